//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fleet"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// What agents cost: go test ./cmd/jobagent -run 'TestFleet$' -v -fleet.agents 20 -fleet.targets
// 2000 -fleet.rounds 5
var (
	fleetAgents      = flag.Int("fleet.agents", testenv.Sample(3, 20), "agent processes of TestFleet")
	fleetTargets     = flag.Int("fleet.targets", testenv.Sample(60, 2000), "target databases of TestFleet, on four servers")
	fleetRounds      = flag.Int("fleet.rounds", testenv.Sample(1, 3), "measured rounds of TestFleet")
	fleetJobs        = flag.Int("fleet.jobs", 1, "runs that begin together in each round of TestFleet")
	fleetSteps       = flag.Int("fleet.steps", 1, "steps of each run of TestFleet")
	fleetConcurrency = flag.Int("fleet.concurrency", 100, "concurrent targets of each agent of TestFleet")
	fleetDelay       = flag.Duration("fleet.delay", 0, "average time that a script of TestFleet takes")
	fleetFailures    = flag.Float64("fleet.failures", 0, "share of the scripts of TestFleet that fail and are retried, 0 to 1")
	fleetIdle        = flag.Duration("fleet.idle", testenv.Sample(time.Second, 20*time.Second), "how long TestFleet measures idle agents")
	fleetLogs        = flag.String("fleet.logs", "", "directory that keeps the logs of TestFleet's agents")
)

const (
	fleetServers = 4
	// fleetLimit bounds one round.
	fleetLimit = 10 * time.Minute
	// fleetAudited bounds the target executions whose invariants are checked: the embedded server
	// needs more than ten minutes for 100,000.
	fleetAudited = 20_000
)

// fleetRun is one run of TestFleet.
type fleetRun struct {
	t     *testing.T
	store *controldb.Store
	dsn   string
	// processes are those of the agents, and then that of the control database if it is embedded.
	processes []*os.Process
	metrics   []string // addresses of the agents
	ran       []atomic.Int32
}

// TestFleet runs agents as processes against one control database, with a fleet of stubs as
// targets. It logs what the agents and the control database do, idle and under load, and expects
// that each target ran exactly once in each step of each run, and that no invariant is violated.
func TestFleet(t *testing.T) {
	testenv.Long(t)
	f := &fleetRun{t: t, ran: make([]atomic.Int32, *fleetTargets)}
	members := f.startTargets()
	f.startControl()
	f.define(members)
	f.startAgents()
	if !t.Run("idle", func(t *testing.T) {
		before := f.usage(t)
		pause(*fleetIdle)
		f.usage(t).since(before).log(t, 0)
	}) {
		return
	}
	f.round(t, "warm-up")
	for i := range *fleetRounds {
		f.round(t, fmt.Sprintf("round %d", i+1))
	}
	for i := range f.ran {
		require.EqualValues(t, (*fleetRounds+1)**fleetJobs**fleetSteps, f.ran[i].Load(), "successful scripts on target %d", i)
	}
	if (*fleetRounds+1)**fleetJobs**fleetSteps**fleetTargets > fleetAudited {
		t.Logf("too many targets for the audit of the control database")
		return
	}
	control := openDSN(t, f.dsn)
	found, err := invariant.Find(t.Context(), control, true)
	require.NoError(t, err)
	require.Empty(t, found)
}

// startTargets starts the targets and returns the members of their group.
func (f *fleetRun) startTargets() (members []targets.Member) {
	t := f.t
	for i := range fleetServers {
		first, end := i**fleetTargets/fleetServers, (i+1)**fleetTargets/fleetServers
		stub := fleet.New(fleet.Config{
			Databases: end - first, Delay: *fleetDelay, Failures: *fleetFailures, Seed: uint64(i),
			OnScript: func(database string, failed bool) {
				n, err := strconv.Atoi(strings.TrimPrefix(database, "t"))
				if err == nil && !failed {
					f.ran[first+n].Add(1)
				}
			},
		})
		t.Cleanup(stub.Close)
		server, err := stub.Listen(t.Context())
		require.NoError(t, err)
		members = append(members, targets.Member{Membership: targets.Include, Kind: targets.SQLServer, Server: server})
	}
	return members
}

// startControl opens the control database of JOBAGENT_TEST_DSN, or starts an embedded one.
func (f *fleetRun) startControl() {
	t := f.t
	if external := externalServer(t); external != nil {
		f.dsn = external.dsn(embedded.ControlDatabase)
	} else {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envBeServer+"="+t.TempDir())
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			require.NoError(t, stdin.Close())
			require.NoError(t, cmd.Wait())
		})
		line, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		f.dsn = strings.TrimSpace(line)
		f.processes = append(f.processes, cmd.Process)
	}
	store, err := controldb.Open(t.Context(), controldb.Config{DSN: f.dsn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	f.store = store
}

// define creates the target group and the jobs.
func (f *fleetRun) define(members []targets.Member) {
	t := f.t
	_, err := targetgroups.On(f.store).Add(t.Context(), "fleet")
	require.NoError(t, err)
	for _, m := range members {
		_, err := targetgroups.On(f.store).AddMember(t.Context(), "fleet", m)
		require.NoError(t, err)
	}
	attempts, seconds := 20, 1
	for i := range *fleetJobs {
		_, err := catalog.On(f.store).AddJob(t.Context(), model.JobSpec{Name: fleetJob(i)})
		require.NoError(t, err)
		for step := range *fleetSteps {
			_, err = catalog.On(f.store).AddJobStep(t.Context(), model.StepSpec{
				JobName: fleetJob(i), StepName: new(fmt.Sprintf("step %d", step+1)), TargetGroup: new("fleet"), Command: new("UPDATE dbo.t SET n = 1;"),
				RetryAttempts: &attempts, InitialRetryInterval: &seconds, MaximumRetryInterval: &seconds,
			})
			require.NoError(t, err)
		}
	}
}

// fleetJob returns the name of a job.
func fleetJob(i int) string { return fmt.Sprintf("fleet %d", i+1) }

// startAgents starts the agents and waits until each has a term.
func (f *fleetRun) startAgents() {
	t := f.t
	dir := *fleetLogs
	if dir == "" {
		dir = t.TempDir()
	}
	var agents []*os.Process
	for i := range *fleetAgents {
		address := freeAddress(t)
		text, err := json.Marshal(map[string]any{
			"metrics": map[string]any{"listen": address},
			"targets": map[string]any{"encrypt": "disable", "default_credential": "jobs"},
			"credentials": []config.Credential{
				{Name: "jobs", Servers: []string{"*"}, User: "jobs", Secret: "env:" + envFleetSecret},
			},
		})
		require.NoError(t, err)
		name := filepath.Join(dir, fmt.Sprintf("agent%d", i+1))
		require.NoError(t, os.WriteFile(name+".json", text, 0o600))
		log, err := os.Create(name + ".log")
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0], "run", "--grace", "1s", "--max-concurrent-targets", strconv.Itoa(*fleetConcurrency), "--config", name+".json")
		cmd.Env = append(os.Environ(), envBeCommand+"=1", config.EnvDSN+"="+f.dsn, envFleetSecret+"=Stub-12")
		cmd.Stderr = log
		require.NoError(t, cmd.Start())
		require.NoError(t, log.Close())
		t.Cleanup(func() {
			_ = cmd.Process.Signal(os.Interrupt) // the process may have ended
			require.NoError(t, cmd.Wait())
		})
		agents = append(agents, cmd.Process)
		f.metrics = append(f.metrics, "http://"+address+"/metrics")
	}
	f.processes = append(agents, f.processes...)
	control := openDSN(t, f.dsn)
	eventually(t, 2*time.Minute, "all agents have a term", func() bool {
		var n int
		err := control.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs_internal.terms WHERE ended_at IS NULL;").Scan(&n)
		return err == nil && n == *fleetAgents
	})
	pause(12 * time.Second) // all have renewed their leases, and know how many they are
}

// envFleetSecret has the password of the stubs, which accept any.
const envFleetSecret = "JOBAGENT_TEST_STUB_PASSWORD"

// freeAddress returns an address on loopback that was free.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// round starts one run of each job and measures until all have ended.
func (f *fleetRun) round(t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		before := f.usage(t)
		var ids []uuid.UUID
		for i := range *fleetJobs {
			id, err := executions.On(f.store).StartJob(t.Context(), fleetJob(i), uuid.Nil)
			require.NoError(t, err)
			ids = append(ids, id)
		}
		limit := time.Now().Add(fleetLimit)
		for _, id := range ids {
			for {
				rows, err := executions.On(f.store).List(t.Context(), executions.Query{ID: id}, controldb.Page[executions.Key]{})
				require.NoError(t, err)
				require.Len(t, rows, 1)
				if !rows[0].Active {
					require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
					break
				}
				require.True(t, time.Now().Before(limit), "the round takes too long")
				pause(200 * time.Millisecond)
			}
		}
		used := f.usage(t).since(before)
		control := openDSN(t, f.dsn)
		var agents, firsts, lasts, seconds []float64
		for _, id := range ids {
			var n, first, last, elapsed float64
			require.NoError(t, control.QueryRowContext(t.Context(), `
SELECT COUNT(*) * 1.0, MIN(c.ms), MAX(c.ms), MAX(DATEDIFF(MILLISECOND, c.create_time, c.end_time)) / 1000.0
FROM (
    SELECT k.term_id, e.create_time, e.end_time, MIN(DATEDIFF(MILLISECOND, e.create_time, k.claimed_at)) * 1.0 AS ms
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
    WHERE e.job_execution_id = @p1 AND k.kind = N'Run'
    GROUP BY k.term_id, e.create_time, e.end_time
) AS c;`, mssqldb.UniqueIdentifier(id)).Scan(&n, &first, &last, &elapsed))
			agents, firsts, lasts, seconds = append(agents, n), append(firsts, first), append(lasts, last), append(seconds, elapsed)
		}
		count := *fleetTargets * *fleetSteps * *fleetJobs
		t.Logf("%d runs in %.2f s (median; %.2f s at most), %.0f targets/s; %.0f agents took part, the first claimed after %.0f ms and the last one to join after %.0f ms",
			len(ids), middle(seconds), slices.Max(seconds), float64(count)/slices.Max(seconds), middle(agents), middle(firsts), middle(lasts))
		used.log(t, count)
	})
}

// middle returns the median of numbers, and sorts them.
func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// fleetUsage is what agents and control database have used.
type fleetUsage struct {
	at             time.Time
	calls, seconds map[string]float64 // of all agents, by procedure
	agents, server float64            // seconds of processors; 0 if unknown
}

// callLine matches the output of an agent about its calls.
var callLine = regexp.MustCompile(`(?m)^jobagent_controldb_call_duration_seconds_(count|sum)\{call="([^"]+)",[^}]*\} (\S+)$`)

// usage reads the usage of all processes.
func (f *fleetRun) usage(t *testing.T) fleetUsage {
	t.Helper()
	u := fleetUsage{at: time.Now(), calls: map[string]float64{}, seconds: map[string]float64{}}
	for _, address := range f.metrics {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, errors.Join(err, res.Body.Close()))
		require.Equal(t, http.StatusOK, res.StatusCode)
		for _, m := range callLine.FindAllSubmatch(text, -1) {
			value, err := strconv.ParseFloat(string(m[3]), 64)
			require.NoError(t, err)
			into := u.calls
			if string(m[1]) == "sum" {
				into = u.seconds
			}
			into[string(m[2])] += value
		}
	}
	http.DefaultClient.CloseIdleConnections()
	for i, p := range f.processes {
		into := &u.agents
		if i >= *fleetAgents {
			into = &u.server
		}
		*into += usedSoFar(p.Pid)
	}
	return u
}

// usedSoFar returns the seconds of processors that the threads of a process have used; 0 on systems
// other than Linux. The times of /proc/PID/stat would be multiples of 10 ms.
func usedSoFar(pid int) float64 {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	sum := 0
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		on, _, _ := bytes.Cut(text, []byte(" "))
		nanoseconds, _ := strconv.Atoi(string(on))
		sum += nanoseconds
	}
	return time.Duration(sum).Seconds()
}

// since returns the usage since another one.
func (u fleetUsage) since(before fleetUsage) fleetUsage {
	d := fleetUsage{at: time.Time{}.Add(u.at.Sub(before.at)), calls: map[string]float64{}, seconds: map[string]float64{},
		agents: u.agents - before.agents, server: u.server - before.server}
	for name, n := range u.calls {
		if n -= before.calls[name]; n > 0 {
			d.calls[name], d.seconds[name] = n, u.seconds[name]-before.seconds[name]
		}
	}
	return d
}

// log writes a usage to the log, divided by targets, if there are any, and by time.
func (u fleetUsage) log(t *testing.T, count int) {
	t.Helper()
	span := u.at.Sub(time.Time{}).Seconds()
	all := 0.0
	perTarget := func(v float64, unit string) string {
		if count == 0 {
			return ""
		}
		return fmt.Sprintf(", %.4f%s a target", v/float64(count), unit)
	}
	for _, name := range slices.Sorted(maps.Keys(u.calls)) {
		all += u.calls[name]
		t.Logf("%7.1f calls a second, %6.2f ms each%s: %s", u.calls[name]/span, 1000*u.seconds[name]/u.calls[name], perTarget(u.calls[name], ""), name)
	}
	t.Logf("%7.1f calls a second%s: all calls of %d agents in %.1f s", all/span, perTarget(all, ""), *fleetAgents, span)
	t.Logf("processors: agents %.2f s (%.2f%%)%s; control database %.2f s (%.2f%%)%s", u.agents, 100*u.agents/span,
		perTarget(1000*u.agents, " ms"), u.server, 100*u.server/span, perTarget(1000*u.server, " ms"))
}
