//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/sim"
)

// A long run: go test ./cmd/jobagent -run TestCrash -crash.duration=30m -crash.seed=1 -timeout 60m
// -v
var (
	crashDuration = flag.Duration("crash.duration", testenv.Sample(4*time.Second, 12*time.Second), "how long TestCrash breaks processes")
	crashSeed     = flag.Uint64("crash.seed", 0, "seed of TestCrash; 0: a new one")
	crashPause    = flag.Duration("crash.pause", time.Second, "average time between two failures of TestCrash")
	crashLogs     = flag.String("crash.logs", "", "directory that keeps the processes' logs")
)

const (
	crashAgents  = 3
	crashTargets = 4
	crashJobs    = 8
	// crashLease is the agents' lease, the shortest that their idle polls allow.
	crashLease = 3 * time.Second
	// crashSettle limits the time until all runs have ended, after the last failure.
	crashSettle = 90 * time.Second
)

// crashAgent is a process `jobagent run`.
type crashAgent struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed after the process has ended
}

// crash is one run of the harness.
type crash struct {
	t      *testing.T
	dir    string // logs and configuration
	data   string // the server's
	rng    *rand.Rand
	server *devProcess
	agents []*crashAgent
	// proxies are between each agent and the control database.
	proxies []*fault.Proxy
	// control is the name of the control database.
	control string
	// program is the executable of an earlier release, and earlier are the agents that run it. The
	// others run this one.
	program string
	earlier map[int]bool
	// plain says that the server permits connections without TLS.
	plain bool
	// often is the interval of the schedule oftenScheduled.
	often time.Duration
	// oneRelease keeps the procedures as they are.
	oneRelease bool
	// started are runs whose start was acknowledged.
	started []uuid.UUID
	// laterRelease is true while the procedures of a later release are deployed.
	laterRelease bool
	// repairs end the failures that are in effect.
	repairs []repair
	counts  map[string]int
	// mu guards the elements of agents, which an endpoint reads, too.
	mu sync.Mutex
	// endpoint receives the requests of actions; nil in a test without actions.
	endpoint *endpoint
}

// TestCrash runs a server with its control database and targets, and agents, as processes. It
// kills, stops and continues them at random under load, and lets the database fail over. If
// JOBAGENT_TEST_DSN names a server, only the agents and their connections fail. At the end, all
// runs must end, and an audit of tables and ledgers must find nothing lost and nothing done twice.
func TestCrash(t *testing.T) {
	testenv.Long(t)
	c := newCrash(t, *crashSeed, externalServer(t))
	store := c.server.store(t)
	databases := c.define(store)
	c.startAgents(crashAgents)
	c.breakThings(*crashDuration, *crashPause, func() { c.startRun(store) })
	c.endSchedules(store)
	c.settle(store)
	c.audit(databases)
	t.Logf("events: %v; %d runs started by hand", c.counts, len(c.started))
}

// newCrash prepares a harness. A nil server is a new process `jobagent dev`, a seed of 0 a random
// seed.
func newCrash(t *testing.T, seed uint64, server *devProcess) *crash {
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	c := &crash{t: t, dir: *crashLogs, data: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{},
		control: embedded.ControlDatabase, often: 10 * time.Second}
	if c.dir == "" {
		c.dir = t.TempDir()
	}
	if c.server = server; server == nil {
		c.server = startDev(t, c.data, "127.0.0.1:0", "--require-tls=false")
		c.plain = true
	}
	c.writeConfig()
	return c
}

// writeConfig writes the agents' configuration. On an external server, the login of the connection
// string is also the login of the targets.
func (c *crash) writeConfig() {
	cfg := config.File{Credentials: []config.Credential{{
		Name: embedded.TargetLogin, Servers: []string{"*"}, User: embedded.TargetLogin,
		Secret: "file:" + filepath.Join(c.data, embedded.TargetPasswordFile),
	}}}
	if c.server.external() {
		password, _ := c.server.base.User.Password()
		c.t.Setenv(connect.EnvTargetPassword, password)
		cfg.Credentials[0].User, cfg.Credentials[0].Secret = c.server.base.User.Username(), "env:"+connect.EnvTargetPassword
		cfg.Targets.AllowControlDatabase = true
	}
	cfg.Targets.DefaultCredential, cfg.Targets.TrustServerCertificate = embedded.TargetLogin, true
	text, err := json.Marshal(map[string]any{
		"targets": map[string]any{
			"default_credential": cfg.Targets.DefaultCredential, "trust_server_certificate": cfg.Targets.TrustServerCertificate,
			"allow_control_database": cfg.Targets.AllowControlDatabase,
		},
		"credentials": cfg.Credentials,
	})
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, "config.json"), text, 0o600))
}

// configFile returns the configuration file of agent i. In a test with actions, each agent has a
// file of its own.
func (c *crash) configFile(i int) string {
	if c.endpoint != nil {
		return filepath.Join(c.dir, fmt.Sprintf("config%d.json", i+1))
	}
	return filepath.Join(c.dir, "config.json")
}

// startAgents starts n agents, each behind its own proxy. They are killed at the end of the test.
func (c *crash) startAgents(n int) {
	c.mu.Lock()
	c.agents, c.proxies = make([]*crashAgent, n), make([]*fault.Proxy, n)
	c.mu.Unlock()
	for i := range c.agents {
		proxy, err := fault.NewProxy(c.server.address, nil)
		require.NoError(c.t, err)
		c.t.Cleanup(func() { require.NoError(c.t, proxy.Close()) })
		c.proxies[i] = proxy
		c.startAgent(i)
	}
	c.t.Cleanup(func() {
		for i := range c.agents {
			c.kill(i)
		}
		if c.t.Failed() {
			c.showLogs()
		}
	})
}

// breakThings causes failures for a time, as breakUntil.
func (c *crash) breakThings(duration, interval time.Duration, work func()) {
	end := time.Now().Add(duration)
	c.breakUntil(interval, work, func() bool { return !time.Now().Before(end) })
}

// breakUntil causes failures at random times, on average every interval, and calls work every 100
// ms, until done. All failures are repaired when it returns.
func (c *crash) breakUntil(interval time.Duration, work func(), done func() bool) {
	next := time.Now()
	for !done() {
		work()
		c.mend(false)
		for i, a := range c.agents { // a supervisor would restart the process
			if c.broken(i) {
				continue
			}
			select {
			case <-a.ended:
				c.counts["agent ended by itself"]++
				c.startAgent(i)
			default:
			}
		}
		if time.Now().After(next) {
			c.event()
			next = time.Now().Add(time.Duration(c.rng.ExpFloat64() * float64(interval)))
		}
		pause(100 * time.Millisecond)
	}
	c.mend(true)
}

// pause waits in real time, because other processes are involved.
func pause(d time.Duration) { <-time.After(d) }

// defineGroup creates target databases with ledgers, and the group of them.
func (c *crash) defineGroup(store *controldb.Store) (names []string) {
	t := c.t
	server := strings.Replace(c.server.address, ":", ",", 1)
	master := c.server.open(t, "master")
	_, err := targetgroups.On(store).Add(t.Context(), "all")
	require.NoError(t, err)
	for i := range crashTargets {
		name := c.server.prefix + fmt.Sprintf("ledger%d", i+1)
		names = append(names, name)
		c.server.create(t, master, name)
		_, err = c.server.open(t, name).ExecContext(t.Context(), sim.CreateLedger)
		require.NoError(t, err)
		_, err = targetgroups.On(store).AddMember(t.Context(), "all", targets.Member{Membership: targets.Include,
			Kind: targets.SQLDatabase, Server: server, Database: name})
		require.NoError(t, err)
	}
	return names
}

// define creates target databases with ledgers, jobs that the test starts, and one with a schedule.
func (c *crash) define(store *controldb.Store) (names []string) {
	t := c.t
	names = c.defineGroup(store)
	attempts, seconds := 20, 1
	control := c.server.open(t, c.control)
	for i := range crashJobs {
		c.addJob(store, crashJob(i), attempts, seconds, "WAITFOR DELAY '00:00:00.300'; "+sim.WriteLedger, sim.WriteLedger)
		if i%2 == 1 { // half of them must never run twice; sp_update_jobstep of earlier releases lacks the option
			_, err := control.ExecContext(t.Context(), "EXECUTE jobs.sp_set_jobstep_options @job_name = @p1, @step_id = 1, @at_most_once = 1;",
				crashJob(i))
			require.NoError(t, err)
		}
	}
	c.addJob(store, oftenScheduled, attempts, seconds, sim.WriteLedger)
	all, bufferOne := "all", "BufferOne"
	_, err := timetable.On(store).Add(t.Context(), timetable.Spec{
		JobName: oftenScheduled, Name: oftenScheduled, Kind: new("cron6"), Spec: new(fmt.Sprintf("*/%d * * * * *", c.often/time.Second)), CatchUp: &all,
		Overlap: &bufferOne,
	})
	require.NoError(t, err)
	c.addJob(store, "every minute", attempts, seconds, sim.WriteLedger)
	enabled, kind, count := true, "Minutes", 1
	require.NoError(t, catalog.On(store).UpdateJob(t.Context(), model.JobSpec{Name: "every minute", Enabled: &enabled,
		IntervalType: &kind, IntervalCount: &count}))
	return names
}

// oftenScheduled is the name of the scheduled job and of its schedule.
const oftenScheduled = "often scheduled"

// crashJob returns the name of a job that the test starts.
func crashJob(i int) string { return fmt.Sprintf("by hand %d", i%crashJobs+1) }

func (c *crash) addJob(store *controldb.Store, name string, attempts, seconds int, scripts ...string) {
	_, err := catalog.On(store).AddJob(c.t.Context(), model.JobSpec{Name: name})
	require.NoError(c.t, err)
	for i, script := range scripts {
		stepName := fmt.Sprintf("step %d", i+1)
		_, err := catalog.On(store).AddJobStep(c.t.Context(), model.StepSpec{
			JobName: name, StepName: &stepName, Command: new(script), TargetGroup: new("all"),
			RetryAttempts: &attempts, InitialRetryInterval: &seconds, MaximumRetryInterval: &seconds,
		})
		require.NoError(c.t, err)
	}
}

// startRun starts a run, and records the run if the server has acknowledged it.
func (c *crash) startRun(store *controldb.Store) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	id, err := executions.On(store).StartJob(ctx, crashJob(len(c.started)), uuid.New())
	if err == nil {
		c.started = append(c.started, id)
	}
}

// startAgent starts the process of agent i.
func (c *crash) startAgent(i int) {
	log, err := os.OpenFile(filepath.Join(c.dir, fmt.Sprintf("agent%d.log", i+1)), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600)
	require.NoError(c.t, err)
	defer log.Close()
	program := os.Args[0]
	if c.earlier[i] {
		program = c.program
	}
	cmd := exec.Command(program, "run", "--lease", crashLease.String(), "--grace", "1s", "--max-concurrent-targets",
		"8",
		"--config", c.configFile(i))
	dsn := strings.Replace(c.server.dsn(c.control), c.server.address, c.proxies[i].Address(), 1)
	if c.plain && i > 0 { // a proxy can answer logins without TLS only; the first agent sees its connections break
		dsn = strings.Replace(dsn, "certificate_sha256="+c.server.pin, "encrypt=disable", 1)
	}
	cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+dsn)
	cmd.Stderr = log
	require.NoError(c.t, cmd.Start())
	a := &crashAgent{cmd: cmd, ended: make(chan struct{})}
	go func() { // ends with the process; kill waits for it
		defer close(a.ended)
		_ = cmd.Wait() // the process was killed
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agents[i] = a
}

// processes returns the processes of all agents. They may have ended.
func (c *crash) processes() (list []*os.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.agents {
		if a != nil {
			list = append(list, a.cmd.Process)
		}
	}
	return list
}

// kill kills an agent and waits for its end.
func (c *crash) kill(i int) {
	if a := c.agents[i]; a != nil {
		_ = a.cmd.Process.Kill() // the process may have ended
		<-a.ended
	}
}

// serverPlace stands for the server; agents have their index.
const serverPlace = -1

// repair ends a failure.
type repair struct {
	at    time.Time
	place int // index of the agent, or serverPlace
	do    func()
}

// plan schedules the end of a failure within limit. Until then, no other failure occurs in the same
// place.
func (c *crash) plan(place int, limit time.Duration, do func()) {
	c.repairs = append(c.repairs, repair{time.Now().Add(time.Duration(c.rng.Int64N(int64(limit)))), place, do})
}

// mend ends the failures whose time has come, or all failures.
func (c *crash) mend(all bool) {
	var rest []repair
	for _, r := range c.repairs {
		if all || !time.Now().Before(r.at) {
			r.do()
		} else {
			rest = append(rest, r)
		}
	}
	c.repairs = rest
}

// broken reports whether a failure is in effect in a place.
func (c *crash) broken(place int) bool {
	return slices.ContainsFunc(c.repairs, func(r repair) bool { return r.place == place })
}

// event causes a failure in a place without one, and plans its end.
func (c *crash) event() {
	place := c.rng.IntN(len(c.agents))
	n := c.rng.IntN(25)
	if n >= 17 {
		place = serverPlace
	}
	if c.broken(place) || place == serverPlace && c.server.external() && n != 20 {
		return // an external server is neither killed nor frozen
	}
	if n == 20 && c.oneRelease {
		return
	}
	switch {
	case n < 10:
		c.counts["agent killed"]++
		c.kill(place)
		c.plan(place, time.Second, func() { c.startAgent(place) })
	case n < 14:
		c.counts["agent frozen"]++
		process := c.agents[place].cmd.Process
		_ = process.Signal(syscall.SIGSTOP) // the process may have ended
		c.plan(place, 2*crashLease, func() { _ = process.Signal(syscall.SIGCONT) })
	case n < 15:
		c.counts["connections cut"]++
		c.proxies[place].Network.Cut()
		c.plan(place, 2*time.Second, c.proxies[place].Network.Heal)
	case n < 16:
		c.counts["connections stalled"]++
		c.proxies[place].Network.Silence()
		c.plan(place, 2*crashLease, c.proxies[place].Network.Heal)
	case n < 17:
		c.counts["agent stopped"]++
		_ = c.agents[place].cmd.Process.Signal(syscall.SIGTERM)
		c.plan(place, time.Second, func() {
			<-c.agents[place].ended
			c.startAgent(place)
		})
	case n < 19:
		c.counts["server killed"]++
		c.server.kill()
		c.plan(place, 2*time.Second, func() { c.server = c.server.restart(c.t) })
	case n < 20:
		c.counts["server frozen"]++
		process := c.server.cmd.Process
		_ = process.Signal(syscall.SIGSTOP)
		c.plan(place, crashLease, func() { _ = process.Signal(syscall.SIGCONT) })
	case n > 20:
		c.failOver()
	default: // deploy the procedures of a later compatible release while the agents run, or those of this release again
		deploy := sim.ReturnToThisRelease
		if c.laterRelease = !c.laterRelease; c.laterRelease {
			deploy = func(ctx context.Context, db *sql.DB) error {
				return sim.DeployLaterRelease(ctx, db, controldb.AgentProtocol, controldb.AgentProtocol)
			}
		}
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		defer cancel()
		if err := deploy(ctx, c.server.open(c.t, c.control)); err == nil {
			c.counts["procedures deployed"]++
		} else {
			c.t.Logf("a deployment failed: %v", err)
		}
	}
}

// failOver moves the control database to another server at the same address, which has the same
// data, planned or forced. Agents see their connections break, and errors before and after the
// change.
func (c *crash) failOver() {
	r := fault.Failing[c.rng.IntN(len(fault.Failing))]
	for _, p := range c.proxies {
		p.Network.FailOver(r)
	}
	if c.rng.IntN(2) == 0 {
		c.counts["planned failover"]++
		c.server.stop(time.Second)
	} else {
		c.counts["forced failover"]++
		c.server.kill()
	}
	recovery := time.Duration(c.rng.Int64N(int64(time.Second)))
	c.plan(serverPlace, 2*time.Second, func() {
		c.server = c.server.restart(c.t)
		pause(recovery)
		for _, p := range c.proxies {
			p.Network.Heal()
		}
	})
}

// TestFrozenAgentLosesItsWorkAndRejoins freezes an agent for longer than its lease. Other agents
// must get its tasks within two leases. When the agent continues, it starts a new term.
func TestFrozenAgentLosesItsWorkAndRejoins(t *testing.T) {
	testenv.Long(t)
	c := newCrash(t, 1, nil)
	store := c.server.store(t)
	names := c.define(store)
	c.startAgents(1)
	control := c.server.open(t, embedded.ControlDatabase)
	// held counts the tasks of the agent's first term. The server's own agent has an earlier term.
	held := func() (n int) {
		require.NoError(t, control.QueryRowContext(t.Context(), `
SELECT COUNT(*) FROM jobs_internal.task_executions AS k
WHERE k.ended_at IS NULL AND k.term_id = (SELECT MIN(t.term_id) FROM jobs_internal.terms AS t WHERE t.agent_id <> (
    SELECT TOP (1) o.agent_id FROM jobs_internal.terms AS o ORDER BY o.term_id));`).Scan(&n))
		return n
	}
	eventually(t, 20*time.Second, "the agent holds a task", func() bool {
		c.startRun(store)
		return held() > 0
	})
	process := c.agents[0].cmd.Process
	require.NoError(t, process.Signal(syscall.SIGSTOP))
	if held() > 0 { // otherwise, the task ended before the signal
		c.counts["frozen with work"]++
	}
	// After a time without passes, no term ends for the longest lease: that of the server's agent.
	const longest = 30 * time.Second
	eventually(t, longest+2*crashLease, "its work is handed over", func() bool { return held() == 0 })
	var live int
	eventually(t, longest+2*crashLease, "its term has ended", func() bool { // it may have been frozen without work
		require.NoError(t, control.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM jobs_internal.terms WHERE ended_at IS NULL;").Scan(&live))
		return live == 1
	})
	require.NoError(t, process.Signal(syscall.SIGCONT))
	// A loaded disk can hold up a start for longer than a lease. The agent tries again then, and
	// logs that, too.
	eventually(t, 10*crashLease, "it has a new term", func() bool { return c.logged("term started") == 2 })
	require.Equal(t, 1, c.logged("core failed")-c.logged(`"error":"start a term: `))
	require.NotZero(t, c.logged("term lost")) // by the lease, by the communicator, or by both
	c.endSchedules(store)
	c.settle(store)
	c.audit(names)
	t.Logf("events: %v; %d runs started by hand", c.counts, len(c.started))
}

// endSchedules disables the schedules of define.
func (c *crash) endSchedules(store *controldb.Store) {
	enabled := false
	eventually(c.t, 30*time.Second, "the server answers", func() bool {
		return catalog.On(store).UpdateJob(c.t.Context(), model.JobSpec{Name: "every minute", Enabled: &enabled}) == nil
	})
	eventually(c.t, 30*time.Second, "the server answers", func() bool {
		return timetable.On(store).Enable(c.t.Context(), oftenScheduled, oftenScheduled, false) == nil
	})
}

// settle waits until no run is active.
func (c *crash) settle(store *controldb.Store) {
	for limit := time.Now().Add(crashSettle); ; pause(200 * time.Millisecond) {
		runs, err := executions.On(store).List(c.t.Context(), executions.Query{System: true, Filter: executions.Filter{Active: new(true)}}, controldb.Page[executions.Key]{})
		if err == nil && len(runs) == 0 {
			return
		}
		if time.Now().After(limit) {
			require.NoError(c.t, err)
			for _, run := range runs {
				rows, _ := executions.On(store).Rows(c.t.Context(), run.ID)
				for _, e := range rows {
					if e.Active {
						c.t.Logf("%s %s %s attempts %d: %s", e.ID, e.TargetType, e.Lifecycle, e.Attempts, e.LastMessage)
					}
				}
			}
			c.t.Fatalf("stuck: %d runs are active %s after the last failure", len(runs), crashSettle)
		}
		for i, a := range c.agents {
			if a == nil {
				continue
			}
			select {
			case <-a.ended:
				c.startAgent(i)
			default:
			}
		}
	}
}

// audit checks the invariants, the ledgers and the schedule, and that all acknowledged runs exist.
func (c *crash) audit(names []string) {
	c.auditAfter(names, sim.Audit{})
}

// auditAfter is audit with what the control database need not know because it was restored.
func (c *crash) auditAfter(names []string, audit sim.Audit) {
	t := c.t
	control := c.server.open(t, c.control)
	found, err := invariant.Find(t.Context(), control, true)
	require.NoError(t, err)
	for _, v := range found {
		t.Errorf("invariant violated: %s", v)
	}
	ledgers := map[string]*sql.DB{}
	for _, name := range names {
		ledgers[name] = c.server.open(t, name)
	}
	sim.AuditLedgers(t, &audit, control, ledgers)
	const lastOf = `
SELECT MAX(x.due_at)
FROM (
    SELECT e.job_id, e.due_at FROM jobs_internal.job_executions AS e
    UNION ALL
    SELECT k.job_id, k.due_at FROM jobs_internal.schedule_skips AS k
) AS x
INNER JOIN jobs_internal.jobs AS j ON j.job_id = x.job_id
WHERE j.name = @p1;`
	for job, interval := range map[string]time.Duration{"every minute": time.Minute, oftenScheduled: c.often} {
		var last sql.NullTime
		require.NoError(t, control.QueryRowContext(t.Context(), lastOf, job).Scan(&last))
		if last.Valid { // otherwise, no instant was due in this short time
			sim.AuditSchedule(t, &audit, control, job, interval, last.Time)
		}
	}
	for _, id := range c.started {
		var n int
		require.NoError(t, control.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM jobs_internal.job_executions WHERE job_execution_id = @p1;",
			mssqldb.UniqueIdentifier(id)).Scan(&n))
		require.Equal(t, 1, n, "run %s was acknowledged, and is lost", id)
	}
	var unsuccessful int
	require.NoError(t, control.QueryRowContext(t.Context(), `
SELECT COUNT(*) FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE j.name NOT LIKE N'jobagent$%' AND e.mode IS NULL AND e.lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped');`).Scan(&unsuccessful))
	if unsuccessful > 0 {
		rows, err := control.QueryContext(t.Context(), `
SELECT TOP (5) CONCAT(t.lifecycle, N' after ', t.attempts, N' attempts on ', t.database_name, N': ', t.last_message)
FROM jobs_internal.target_executions AS t
WHERE t.lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped', N'Skipped');`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			t.Log(line)
		}
		require.NoError(t, rows.Err())
	}
	require.Zero(t, unsuccessful, "with twenty retries every run succeeds")
	t.Logf("audit: %s; %d outcomes refused", audit, c.logged("outcome refused"))
}

// logged counts the lines with a message in the agents' logs.
func (c *crash) logged(message string) (n int) {
	for i := range c.agents {
		text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("agent%d.log", i+1)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the agent was never started
		}
		require.NoError(c.t, err)
		n += bytes.Count(text, []byte(message))
	}
	return n
}

// showLogs writes the ends of the agents' logs, and what the server does, to the log of the test.
func (c *crash) showLogs() {
	if c.server.log != nil {
		text := c.server.log.String()
		c.t.Logf("server:\n%s", text[max(0, len(text)-3000):])
	}
	c.showSessions()
	for i := range c.agents {
		text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("agent%d.log", i+1)))
		if err == nil {
			c.t.Logf("agent %d:\n%s", i+1, text[max(0, len(text)-3000):])
		}
	}
}

// showSessions writes the sessions that run a request or hold a transaction to the log of the test.
func (c *crash) showSessions() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), 5*time.Second) // the test may have ended
	defer cancel()
	rows, err := c.server.open(c.t, c.control).QueryContext(ctx, `
SELECT CONCAT(s.session_id, N' ', s.program_name, N' ', s.host_process_id, N', transactions: ', s.open_transaction_count, N'; ', r.status, N' ',
    r.command, N' ', r.wait_type, N' for ', r.wait_time, N' ms, blocked by ', r.blocking_session_id, N': ', LEFT(q.text, 300))
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
OUTER APPLY sys.dm_exec_sql_text(r.sql_handle) AS q
WHERE s.session_id <> @@SPID
    AND (r.session_id IS NOT NULL OR s.open_transaction_count > 0);`)
	if err != nil {
		c.t.Logf("sessions: %v", err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			c.t.Logf("sessions: %v", err)
			return
		}
		c.t.Logf("session %s", line)
	}
}
