//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// arrival is a request that the endpoint received, or a start of the test's process.
type arrival struct {
	job     string
	key     uuid.UUID // the idempotency key
	attempt int
	at      time.Time
	// failed means that the endpoint refused the request before it did anything, so that another
	// request is right.
	failed bool
}

// reported is what became of the reports with one token.
type reported struct {
	accepted map[bool]int // answers 200, by success
	refused  int          // answers 400
}

// endpoint receives the requests of actions, and reports on those that end by a callback. It
// answers, refuses, delays and breaks at random.
type endpoint struct {
	t      *testing.T
	server *httptest.Server
	// phase is called when an action reaches a phase.
	phase func(phase string)
	// receivers returns the addresses of the receivers of callbacks. Some may be down.
	receivers func() []string

	ctx      context.Context // of the reports
	cancel   context.CancelFunc
	reports  sync.WaitGroup
	client   *http.Client
	mu       sync.Mutex
	rng      *rand.Rand
	arrivals []arrival
	tokens   map[string]*reported
	keys     map[string]uuid.UUID // of the tokens
}

// Phases of an action.
const (
	phaseConnected = "connected" // nothing was sent
	phaseSent      = "sent"      // the request has arrived, and has no answer
)

// newEndpoint starts an endpoint. It is closed when the test ends.
func newEndpoint(t *testing.T, seed uint64, receivers func() []string, phase func(string)) *endpoint {
	e := &endpoint{
		t: t, receivers: receivers, phase: phase, rng: rand.New(rand.NewPCG(seed, 1)), tokens: map[string]*reported{}, keys: map[string]uuid.UUID{},
		client: &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	e.server = httptest.NewUnstartedServer(http.HandlerFunc(e.serve))
	e.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew { // an agent has connected, and is about to call begin_send
			e.phase(phaseConnected)
		}
	}
	e.server.Start()
	t.Cleanup(func() {
		e.cancel()
		e.server.CloseClientConnections()
		e.server.Close()
		e.reports.Wait()
	})
	return e
}

// draw returns a random number below n.
func (e *endpoint) draw(n int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rng.IntN(n)
}

// requestBody is the body that the test's actions send.
type requestBody struct {
	Key      uuid.UUID `json:"key"`
	Attempt  string    `json:"attempt"`
	Callback string    `json:"callback"`
}

// serve answers a request. The last part of the path is the kind of the job.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var body requestBody
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		e.t.Errorf("a request's body: %v", err)
		return
	}
	attempt, err := strconv.Atoi(body.Attempt)
	if err != nil {
		e.t.Errorf("a request's attempt: %v", err)
	}
	job := strings.Trim(r.URL.Path, "/")
	one := arrival{job: job, key: body.Key, attempt: attempt, at: at}
	dice := e.draw(100)
	one.failed = job == jobHTTP && dice < 5
	e.mu.Lock()
	e.arrivals = append(e.arrivals, one)
	if body.Callback != "" {
		e.keys[tokenOf(body.Callback)] = body.Key
	}
	e.mu.Unlock()
	if _, again := r.Header["Idempotency-Key"]; !again {
		e.t.Error("a request without Idempotency-Key")
	}
	e.phase(phaseSent)
	if one.failed {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	early := job == jobAsync && dice < 30
	if job == jobAsync {
		if early { // the report comes before the answer
			e.report(body.Callback, dice)
		} else {
			e.reports.Go(func() {
				pause(time.Duration(dice) * 20 * time.Millisecond)
				e.report(body.Callback, dice)
			})
		}
	}
	pause(time.Duration(e.draw(300)) * time.Millisecond)
	switch {
	case dice >= 95 && job != jobOnce: // no answer
		panic(http.ErrAbortHandler)
	case job == jobAsync:
		w.WriteHeader(http.StatusAccepted)
	default:
		_, _ = io.WriteString(w, `{"done": true}`)
	}
}

// tokenOf returns the token in the URL of a callback.
func tokenOf(callback string) string { return callback[strings.LastIndexByte(callback, '/')+1:] }

// report reports success until a receiver has decided. For some tokens, a contradicting report
// races with it, or the same report comes twice.
func (e *endpoint) report(callback string, dice int) {
	token := tokenOf(callback)
	if dice%3 == 0 {
		e.reports.Go(func() { e.post(token, dice%2 == 0) })
	}
	e.post(token, true)
}

// post sends one report to one receiver after the other until one has decided.
func (e *endpoint) post(token string, success bool) {
	text := fmt.Appendf(nil, `{"success": %t, "message": "from the endpoint"}`, success)
	for e.ctx.Err() == nil {
		for _, address := range e.receivers() {
			req, err := http.NewRequestWithContext(e.ctx, http.MethodPost, "http://"+address+"/callbacks/"+token, bytes.NewReader(text))
			if err != nil {
				e.t.Errorf("a report: %v", err)
				return
			}
			res, err := e.client.Do(req)
			if err != nil {
				continue // the receiver is down
			}
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusBadRequest {
				e.note(token, success, res.StatusCode == http.StatusOK)
				return
			}
			if res.StatusCode < 500 {
				e.t.Errorf("a report was answered %s", res.Status)
				return
			}
		}
		pause(100 * time.Millisecond)
	}
}

// note records what became of a report.
func (e *endpoint) note(token string, success, accepted bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.tokens[token]
	if r == nil {
		r = &reported{accepted: map[bool]int{}}
		e.tokens[token] = r
	}
	if accepted {
		r.accepted[success]++
	} else {
		r.refused++
	}
}

// Names of the jobs with actions, which are the paths of the endpoint, too.
const (
	jobHTTP       = "http"        // retried by its policy
	jobOnce       = "http-once"   // on_unknown_outcome = Fail
	jobAtMostOnce = "http-most"   // at_most_once
	jobAsync      = "async"       // ends by a callback; on_unknown_outcome = Await
	jobTenants    = "http-tenant" // one request for each database
	jobProcess    = "process"     // retried by its policy
)

// actionJobs are all kinds of jobs with actions.
var actionJobs = []string{jobHTTP, jobOnce, jobAtMostOnce, jobAsync, jobTenants, jobProcess}

// actionVariants is how many jobs of each kind there are. Runs of one job that overlap skip their
// target, so more jobs send more requests.
const actionVariants = 12

// actionJob returns the name of the job that the n-th start runs: its kind, and a number.
func actionJob(n int) string {
	return fmt.Sprintf("%s %d", actionJobs[n%len(actionJobs)], n/len(actionJobs)%actionVariants)
}

// defineActions creates the jobs with actions.
func (c *crash) defineActions(store *controldb.Store) {
	for n := range len(actionJobs) * actionVariants {
		name := actionJob(n)
		job, _, _ := strings.Cut(name, " ")
		body := `{"key": "$(idempotency_key)", "attempt": "$(attempt)"}`
		commandType, group := action.TypeHTTP, ""
		extra := ""
		switch job {
		case jobAsync:
			body = `{"key": "$(idempotency_key)", "attempt": "$(attempt)", "callback": "$(callback_url)"}`
			extra = `, "callback": {"timeout_seconds": 20}` // a request that was never written is not reported on
		case jobTenants:
			group = "all"
		}
		command := fmt.Sprintf(`{"url": %q, "allow_http": true, "response_timeout_seconds": 5, "body": %s%s}`,
			c.endpoint.server.URL+"/"+job, body, extra)
		if job == jobProcess {
			commandType = action.TypeProcess
			command = `{"entry": "ledger", "args": ["$(idempotency_key)", "$(attempt)"]}`
		}
		_, err := catalog.On(store).AddJob(c.t.Context(), model.JobSpec{Name: name})
		require.NoError(c.t, err)
		typeName, attempts, seconds := string(commandType), 20, 1
		_, err = catalog.On(store).AddJobStep(c.t.Context(), model.StepSpec{
			JobName: name, Command: new(command), CommandType: &typeName, TargetGroup: new(group),
			RetryAttempts: &attempts, InitialRetryInterval: &seconds, MaximumRetryInterval: &seconds,
		})
		require.NoError(c.t, err)
		options := model.StepSpec{JobName: name}
		fail, await, once := "Fail", "Await", true
		switch job {
		case jobOnce:
			options.OnUnknownOutcome = &fail
		case jobAsync:
			options.OnUnknownOutcome = &await
		case jobAtMostOnce:
			options.AtMostOnce = &once
		default:
			continue
		}
		_, err = catalog.On(store).UpdateJobStep(c.t.Context(), options)
		require.NoError(c.t, err)
	}
}

// ledgerScript appends a line to a file, atomically, when it starts and before it ends.
const ledgerScript = `#!/bin/sh
echo "$1 $2 $(date +%s.%N)" >> "$LEDGER" && sleep 0.2
`

// processEntry writes the script of the process, and returns the entry of the configuration.
func (c *crash) processEntry() map[string]any {
	script := filepath.Join(c.dir, "ledger.sh")
	require.NoError(c.t, os.WriteFile(script, []byte(ledgerScript), 0o700))
	return map[string]any{
		"name": "ledger", "path": "/bin/sh", "args": []string{script}, "args_pattern": "[0-9a-f-]+",
		"env": map[string]string{"LEDGER": c.ledgerFile()},
	}
}

// ledgerFile is the file to which the process appends.
func (c *crash) ledgerFile() string { return filepath.Join(c.dir, "ledger.txt") }

// processStarts reads the ledger of the process.
func (c *crash) processStarts() (list []arrival) {
	text, err := os.ReadFile(c.ledgerFile())
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(c.t, err)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		require.Len(c.t, fields, 3, line)
		attempt, err := strconv.Atoi(fields[1])
		require.NoError(c.t, err)
		seconds, nanos, _ := strings.Cut(fields[2], ".")
		s, err := strconv.ParseInt(seconds, 10, 64)
		require.NoError(c.t, err)
		n, err := strconv.ParseInt(nanos, 10, 64)
		require.NoError(c.t, err)
		list = append(list, arrival{job: jobProcess, key: uuid.MustParse(fields[0]), attempt: attempt, at: time.Unix(s, n)})
	}
	return list
}

// sentTask is an attempt of an action in the control database.
type sentTask struct {
	task     int64
	attempt  int
	outcome  string
	began    sql.NullTime // when begin_send allowed it
	ended    sql.NullTime
	received int // requests that belong to it
}

// auditActions compares what arrived with the control database.
func (c *crash) auditActions(control *sql.DB) {
	t := c.t
	tasks := c.sentTasks(control)
	c.endpoint.mu.Lock()
	defer c.endpoint.mu.Unlock()
	arrivals := append(slices.Clone(c.endpoint.arrivals), c.processStarts()...)
	counts, attempts := map[string]int{}, map[uuid.UUID]int{}
	for _, a := range arrivals {
		counts[a.job]++
		if !a.failed {
			attempts[a.key]++
		}
		// The instants of request and control database are of one machine. The request comes after
		// the mark, and before another agent gets the task.
		i := slices.IndexFunc(tasks[a.key], func(k sentTask) bool {
			return k.attempt == a.attempt && k.began.Valid && !a.at.Before(k.began.Time) && (!k.ended.Valid || !a.at.After(k.ended.Time))
		})
		if i < 0 {
			t.Errorf("a request of %s, key %s, attempt %d, at %s belongs to no attempt that was held: %+v",
				a.job, a.key, a.attempt, a.at.UTC().Format(time.RFC3339Nano), tasks[a.key])
			continue
		}
		tasks[a.key][i].received++
	}
	for key, list := range tasks {
		for _, k := range list {
			if k.received > 1 {
				t.Errorf("attempt %d of key %s was sent %d times", k.attempt, key, k.received)
			}
			if k.received == 0 && k.outcome == "Succeeded" {
				t.Errorf("attempt %d of key %s succeeded and was never sent", k.attempt, key)
			}
		}
	}
	failures := map[uuid.UUID]int{} // reports of failure that were accepted, by key
	accepted, contradicted := 0, 0
	for token, r := range c.endpoint.tokens {
		if r.accepted[false] > 0 {
			failures[c.endpoint.keys[token]]++
		}
		if len(r.accepted) > 1 {
			t.Errorf("two contradicting reports with the token %.6s… were accepted", token)
		}
		if len(r.accepted) > 0 {
			accepted++
		}
		contradicted += r.refused
	}
	for _, a := range arrivals {
		if (a.job == jobOnce || a.job == jobAtMostOnce || a.job == jobAsync) && attempts[a.key] > 1+failures[a.key] {
			t.Errorf("key %s of %s was sent %d times", a.key, a.job, attempts[a.key])
		}
	}
	var callbacks int
	require.NoError(t, control.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM jobs_internal.callbacks AS b WHERE b.success IS NOT NULL;").Scan(&callbacks))
	if callbacks != accepted {
		t.Errorf("the control database has %d reports, but %d were acknowledged", callbacks, accepted)
	}
	t.Logf("actions: %d requests and process starts %v; reports: %d tokens accepted, %d reports refused",
		len(arrivals), counts, accepted, contradicted)
}

// sentTasks reads all attempts of actions by idempotency key.
func (c *crash) sentTasks(control *sql.DB) map[uuid.UUID][]sentTask {
	rows, err := control.QueryContext(c.t.Context(), `
SELECT t.internal_id, k.task_id, k.attempt, COALESCE(k.outcome, N''), k.send_began_at, k.ended_at
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
ORDER BY k.task_id;`)
	require.NoError(c.t, err)
	defer rows.Close()
	tasks := map[uuid.UUID][]sentTask{}
	for rows.Next() {
		var id mssqldb.UniqueIdentifier
		var k sentTask
		require.NoError(c.t, rows.Scan(&id, &k.task, &k.attempt, &k.outcome, &k.began, &k.ended))
		key := agent.IdempotencyKey(uuid.UUID(id))
		tasks[key] = append(tasks[key], k)
	}
	require.NoError(c.t, rows.Err())
	return tasks
}

// freePort returns the address of a port on which nothing listens now.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// TestCrashActions is TestCrash for runs of actions. An endpoint records each request, answers,
// refuses and breaks at random, and reports on asynchronous work. Agents are killed and frozen in
// each phase. At the end, no request came from a term that had lost its task, no attempt was sent
// twice, no step that forbids it was repeated, and each callback was accepted at most once. A long
// run: go test ./cmd/jobagent -run TestCrashActions -crash.duration=20m -crash.pause=2s -timeout
// 40m -v
func TestCrashActions(t *testing.T) {
	testenv.Long(t)
	c := newCrash(t, *crashSeed, externalServer(t))
	listens := make([]string, crashAgents)
	for i := range listens {
		listens[i] = freePort(t)
	}
	phases := &phaseBreaker{crash: c, rng: rand.New(rand.NewPCG(c.rng.Uint64(), 2)), counts: map[string]int{}}
	c.endpoint = newEndpoint(t, c.rng.Uint64(), func() []string { return listens }, phases.reached)
	c.writeActionConfigs(listens)
	store := c.server.store(t)
	c.defineGroup(store)
	c.defineActions(store)
	c.startAgents(crashAgents)
	stopped := map[uuid.UUID]bool{}
	c.breakThings(*crashDuration, *crashPause, func() { c.startAction(store, stopped) })
	phases.end()
	c.settle(store)
	control := c.server.open(t, embedded.ControlDatabase)
	found, err := invariant.Find(t.Context(), control, true)
	require.NoError(t, err)
	for _, v := range found {
		t.Errorf("invariant violated: %s", v)
	}
	c.auditActions(control)
	c.auditEnds(control, stopped)
	t.Logf("events: %v; in phases of actions: %v; %d runs started, %d of them stopped", c.counts, phases.counts, len(c.started), len(stopped))
}

// phaseBreaker freezes or kills all agents when an action reaches a phase, so that the process that
// runs the action is hit there.
type phaseBreaker struct {
	crash *crash

	mu     sync.Mutex
	rng    *rand.Rand
	counts map[string]int
	until  time.Time      // no agent is frozen before this instant
	thaws  sync.WaitGroup // of frozen agents
	over   bool
}

// phaseOdds is the share of phases, in percent, in which agents are frozen or killed.
const phaseOdds = 4

// reached is called when an action reaches a phase.
func (b *phaseBreaker) reached(phase string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || time.Now().Before(b.until) || b.rng.IntN(100) >= phaseOdds {
		return
	}
	processes := b.crash.processes()
	if b.rng.IntN(3) == 0 { // the main loop starts them again
		b.counts["killed when "+phase]++
		for _, p := range processes {
			_ = p.Signal(syscall.SIGKILL)
		}
		b.until = time.Now().Add(crashLease)
		return
	}
	b.counts["frozen when "+phase]++
	for _, p := range processes {
		_ = p.Signal(syscall.SIGSTOP) // the process may have ended
	}
	frozen := crashLease + time.Duration(b.rng.Int64N(int64(crashLease)))
	b.until = time.Now().Add(2 * frozen)
	b.thaws.Go(func() {
		pause(frozen)
		for _, p := range processes {
			_ = p.Signal(syscall.SIGCONT)
		}
	})
}

// end breaks nothing any more, and waits until no agent is frozen.
func (b *phaseBreaker) end() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	b.thaws.Wait()
}

// writeActionConfigs writes the configuration of each agent, with an address for callbacks.
func (c *crash) writeActionConfigs(listens []string) {
	text, err := os.ReadFile(filepath.Join(c.dir, "config.json"))
	require.NoError(c.t, err)
	cfg := map[string]any{}
	require.NoError(c.t, json.Unmarshal(text, &cfg))
	cfg["outbound"] = map[string]any{"allow": []string{"127.0.0.0/8"}}
	cfg["processes"] = []any{c.processEntry()}
	for i, listen := range listens {
		cfg["callbacks"] = map[string]string{"listen": listen}
		text, err = json.Marshal(cfg)
		require.NoError(c.t, err)
		require.NoError(c.t, os.WriteFile(c.configFile(i), text, 0o600))
	}
}

// startAction starts a run of the next job, and sometimes requests its stop.
func (c *crash) startAction(store *controldb.Store, stopped map[uuid.UUID]bool) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	id, err := executions.On(store).StartJob(ctx, actionJob(len(c.started)), uuid.New())
	if err != nil {
		return
	}
	c.started = append(c.started, id)
	if victim := c.started[c.rng.IntN(min(len(c.started), 20))+max(0, len(c.started)-20)]; c.rng.IntN(30) == 0 {
		stopped[victim] = true // even if the answer is lost
		_ = executions.On(store).Stop(ctx, victim)
	}
}

// auditEnds checks how the runs ended. Only runs of the jobs that may not repeat a request, and
// stopped runs, end otherwise than with success.
func (c *crash) auditEnds(control *sql.DB, stopped map[uuid.UUID]bool) {
	rows, err := control.QueryContext(c.t.Context(), `
SELECT e.job_execution_id, j.name, e.lifecycle, COALESCE(e.last_message, N'')
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id;`)
	require.NoError(c.t, err)
	defer rows.Close()
	ends, known := map[string]int{}, map[uuid.UUID]bool{}
	for rows.Next() {
		var id mssqldb.UniqueIdentifier
		var job, lifecycle, message string
		require.NoError(c.t, rows.Scan(&id, &job, &lifecycle, &message))
		known[uuid.UUID(id)] = true
		if job, _, _ = strings.Cut(job, " "); !slices.Contains(actionJobs, job) {
			continue
		}
		ends[job+" "+lifecycle]++
		switch {
		case lifecycle == "Succeeded", lifecycle == "SucceededWithSkipped":
		case lifecycle == "Canceled" && stopped[uuid.UUID(id)]:
		case stopped[uuid.UUID(id)], job == jobOnce, job == jobAtMostOnce, job == jobAsync:
		default:
			c.t.Errorf("a run of %s ended as %s: %s", job, lifecycle, message)
		}
	}
	require.NoError(c.t, rows.Err())
	for _, id := range c.started {
		require.True(c.t, known[id], "run %s was acknowledged, and is lost", id)
	}
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		c.t.Logf("%6d %s", ends[end], end)
	}
}
