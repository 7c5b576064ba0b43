package sim_test

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/action"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	actionhttp "github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/endpoint"
	"github.com/jobagent/jobagent/testenv/sim"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// name takes the name from the text of a description.
var name = regexp.MustCompile(`fqName: "([^"]+)"`)

// Each metric is proven by a scenario: something happens to a real agent or front, and the metric
// shows it. A metric without a scenario fails the test.
func TestMetrics(t *testing.T) {
	ran := true
	for title, scenario := range map[string]func(t *testing.T){
		"runs": runs, "runs are counted once": countedOnce, "busy workers": busyWorkers, "shared workers": sharedWorkers, "control database away": away, "schedules": schedules,
		"targets away": targetsAway, "drift": drift, "nobody advances": nobodyAdvances, "paused": paused, "actions": actions, "deadlock": deadlock, "connections": connections,
		"front": front,
	} {
		ran = t.Run(title, func(t *testing.T) {
			if title == "front" { // on the network of this machine
				scenario(t)
				return
			}
			synctest.Test(t, scenario)
		}) && ran
	}
	if !ran || t.Failed() {
		return
	}
	descriptions := make(chan *prometheus.Desc)
	go func() { // ends with the descriptions
		metrics.New(metrics.Build{}).Describe(descriptions)
		close(descriptions)
	}()
	for d := range descriptions {
		if n := name.FindStringSubmatch(d.String())[1]; strings.HasPrefix(n, "jobagent_") && !proven[n] {
			t.Errorf("no scenario proves the metric %s", n)
		}
	}
}

// database is the name of the control database in metrics.
const database = "jobs"

// world returns a world whose agents are counted.
func world(t *testing.T, n int) (*sim.World, *metrics.Metrics) {
	t.Helper()
	w, m := sim.NewWorld(t, n), metrics.New(metrics.Build{Version: "1.2.3"})
	w.Metrics = m.Database(database)
	return w, m
}

// A run with a step that succeeds after a retry, and a step that fails.
func runs(t *testing.T) {
	w, m := world(t, 2)
	const once = `IF NOT EXISTS (SELECT 1 FROM dbo.ledger) BEGIN ` + sim.WriteLedger + ` RAISERROR('not yet', 16, 1); END; `
	w.AddJob(t, "j", []string{once, "RAISERROR('never', 16, 1);"}, sim.Retries(1, 1))
	a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 7}, nil)
	<-time.After(time.Second)
	s := read(t, m)
	s.is(t, "jobagent_term_starts_total", 1)
	s.is(t, "jobagent_terms_active", 1)
	s.is(t, "jobagent_workers", 7)
	s.is(t, "jobagent_workers_floor", 7)
	s.is(t, "jobagent_build_info{version=1.2.3}", 1)

	id := w.Start(t, "j")
	_, ended := w.Ended(t, id, time.Minute)
	require.True(t, ended)
	<-time.After(15 * time.Second) // the end of the run is counted 10 s later, and the term is renewed
	s = read(t, m)
	const tsql = "{control_database=jobs,command_type=TSql"
	s.is(t, "jobagent_tasks_total"+tsql+",outcome=Succeeded}", 2)
	s.is(t, "jobagent_tasks_total"+tsql+",outcome=Failed}", 6)
	s.is(t, "jobagent_tasks_total{command_type=Resolve,outcome=Succeeded}", 2)
	s.is(t, "jobagent_task_duration_seconds"+tsql+"}", 8)
	s.is(t, "jobagent_task_retries_total"+tsql+"}", 4)
	s.is(t, "jobagent_tasks_claimed_total", 10)
	s.is(t, "jobagent_claim_latency_seconds", 10)
	s.is(t, "jobagent_delivery_latency_seconds", 10)
	s.is(t, "jobagent_runs_total{lifecycle=Failed}", 1)
	s.is(t, "jobagent_runs_total{lifecycle=Succeeded}", 0)
	s.is(t, "jobagent_active_runs", 0)
	s.is(t, "jobagent_runs_reads_total{result=ok}", 2)
	s.is(t, "jobagent_runs_reads_total{result=failed}", 0)
	s.between(t, "jobagent_passes_total{result=advanced}", 20, 1000)
	passes, _ := s.value("jobagent_passes_total")
	s.is(t, "jobagent_pass_duration_seconds", passes)
	s.is(t, "jobagent_controldb_call_duration_seconds{client=agent,call=jobs_internal.controller_pass}", passes)
	s.between(t, "jobagent_lease_margin_seconds", 1, 3)
	s.between(t, "jobagent_lease_margin_seconds_sum", 10, 45)
	s.between(t, "jobagent_lease_left_seconds", 10, 25)
	s.between(t, "jobagent_target_connections_opened_total", 8, 12)
	s.between(t, "jobagent_target_login_duration_seconds", 8, 12)
	s.is(t, "jobagent_cache_reads_total{cache=commands,result=miss}", 2)
	s.is(t, "jobagent_cache_reads_total{cache=commands,result=hit}", 6)
	s.between(t, "jobagent_cache_bytes{cache=commands}", 100, 400)
	s.is(t, "jobagent_tasks_held", 0)

	require.NoError(t, a.Stop())
	s = read(t, m)
	s.is(t, "jobagent_terms_active", 0)
	_, found := s.value("jobagent_workers")
	require.False(t, found, "without a core there is no state")
}

// Whenever Prometheus asks, each run is counted once.
func countedOnce(t *testing.T) {
	w, m := world(t, 1)
	w.AddJob(t, "j", []string{"SELECT 1;"})
	w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	read(t, m)
	const total = 25
	for i := range total {
		w.Start(t, "j")
		<-time.After(time.Duration(500+i*97) * time.Millisecond)
		if i%3 > 0 {
			read(t, m)
		}
	}
	<-time.After(30 * time.Second)
	read(t, m).is(t, "jobagent_runs_total{lifecycle=Succeeded}", total)
}

// One worker has three tasks, of which two wait. The run is stopped then.
func busyWorkers(t *testing.T) {
	w, m := world(t, 3)
	w.AddJob(t, "j", []string{"WAITFOR DELAY '00:00:20';"}, sim.Retries(0, 1))
	w.StartAgent(t, agent.Config{MaxConcurrentTargets: 2, Prefetch: 2}, nil)
	<-time.After(time.Second)
	id := w.Start(t, "j")
	<-time.After(4 * time.Second)
	s := read(t, m)
	s.is(t, "jobagent_workers_busy", 2)
	s.between(t, "jobagent_tasks_held", 2, 3)
	s.between(t, "jobagent_queue_tasks", 0, 1)
	s.is(t, "jobagent_active_runs{lifecycle=WaitingForChildJobExecutions}", 1)
	require.NoError(t, executions.On(w.Store).Stop(t.Context(), id))
	_, ended := w.Ended(t, id, time.Minute)
	require.True(t, ended)
	<-time.After(15 * time.Second)
	s = read(t, m)
	s.between(t, "jobagent_cancel_signals_total", 2, 100)
	s.is(t, "jobagent_tasks_total{command_type=TSql,outcome=Canceled}", 2)
	s.is(t, "jobagent_runs_total{lifecycle=Canceled}", 1)
	s.is(t, "jobagent_workers_busy", 0)
}

// A claimed task waits while all workers are busy, and two agents share a budget.
func sharedWorkers(t *testing.T) {
	w, m := world(t, 6)
	budget, err := agent.NewBudget(4)
	require.NoError(t, err)
	w.AddJob(t, "j", []string{"WAITFOR DELAY '00:00:05';"})
	busy := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 4, Budget: budget}, nil)
	other := sim.NewWorld(t, 0)
	other.Metrics = m.Database("idle")
	idle := other.StartAgent(t, agent.Config{MaxConcurrentTargets: 4, Budget: budget}, nil)
	<-time.After(time.Second)
	w.Start(t, "j")
	<-time.After(3 * time.Second)
	s := read(t, m)
	s.is(t, "jobagent_workers_floor{control_database=jobs}", 1)
	s.between(t, "jobagent_workers_lent{control_database=jobs}", 1, 3)
	s.is(t, "jobagent_workers_lent{control_database=idle}", 0)
	require.NoError(t, busy.Stop())
	require.NoError(t, idle.Stop())
}

// The control database goes away while a script runs, for longer than the lease.
func away(t *testing.T) {
	w, m := world(t, 1)
	w.AddJob(t, "j", []string{"WAITFOR DELAY '00:00:05';"}, sim.Retries(3, 1))
	a := w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	id := w.Start(t, "j")
	<-time.After(2 * time.Second)
	a.Control.Cut()
	<-time.After(8 * time.Second)
	s := read(t, m)
	s.is(t, "jobagent_outbox_outcomes", 1)
	s.between(t, "jobagent_passes_total{result=failed}", 1, 100)
	s.between(t, "jobagent_controldb_errors_total{client=agent,error=unreachable}", 3, 1000)
	s.between(t, "jobagent_runs_reads_total{result=failed}", 1, 1)
	_, found := s.value("jobagent_active_runs")
	require.False(t, found, "nobody knows")
	<-time.After(40 * time.Second)
	s = read(t, m)
	s.is(t, "jobagent_core_restarts_total{cause=term_lost}", 1)
	s.between(t, "jobagent_core_restarts_total{cause=no_term}", 1, 100)
	a.Control.Heal()
	_, ended := w.Ended(t, id, 2*time.Minute)
	require.True(t, ended)
	read(t, m).is(t, "jobagent_term_starts_total", 2)
}

// No target answers.
func targetsAway(t *testing.T) {
	w, m := world(t, 1)
	w.AddJob(t, "j", []string{"SELECT 1;"}, sim.Retries(1, 1))
	a := w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	a.Targets.Cut()
	_, ended := w.Ended(t, w.Start(t, "j"), time.Minute)
	require.True(t, ended)
	s := read(t, m)
	s.is(t, "jobagent_target_connection_failures_total{class=LostConnection}", 2)
	s.is(t, "jobagent_target_connections_opened_total", 0)
}

// A schedule starts runs that take longer than its interval.
func schedules(t *testing.T) {
	w, m := world(t, 1)
	w.AddJob(t, "j", []string{"WAITFOR DELAY '00:01:30';"})
	skip := "Skip"
	_, err := timetable.On(w.Store).Add(t.Context(), timetable.Spec{JobName: "j", Name: "s", Kind: new("cron5"), Spec: new("* * * * *"), Overlap: &skip})
	require.NoError(t, err)
	w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	read(t, m) // counts from here on
	<-time.After(5 * time.Minute)
	s := read(t, m)
	s.between(t, "jobagent_schedule_firings_total{result=Started}", 2, 3)
	s.between(t, "jobagent_schedule_firings_total{result=Skipped}", 2, 3)
	s.between(t, "jobagent_schedule_skips_total{cause=Overlap}", 2, 3)
	s.is(t, "jobagent_schedule_skips_total{cause=CatchUp}", 0)
	started, _ := s.value("jobagent_schedule_firings_total{result=Started}")
	s.is(t, "jobagent_schedule_lag_seconds", started)
	s.between(t, "jobagent_schedule_lag_seconds_sum", 0, 3)
}

// Somebody changes tables under a working agent.
func drift(t *testing.T) {
	w, m := world(t, 1)
	w.AddJob(t, "j", []string{"SELECT 1;"})
	w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	_, ended := w.Ended(t, w.Start(t, "j"), time.Minute)
	require.True(t, ended)
	_, err := w.DB(t, w.Control).ExecContext(t.Context(),
		"UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL WHERE kind = N'Resolve';")
	require.NoError(t, err)
	<-time.After(10 * time.Second)
	s := read(t, m)
	s.is(t, "jobagent_core_restarts_total{cause=drift}", 1)
	s.is(t, "jobagent_core_restarts_total{cause=other}", 0)
}

// An administrator pauses the control database.
func paused(t *testing.T) {
	w, m := world(t, 1)
	w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	read(t, m).is(t, "jobagent_control_database_paused", 0)
	require.NoError(t, identity.On(w.Store).Pause(t.Context(), "maintenance"))
	<-time.After(10 * time.Second)
	read(t, m).is(t, "jobagent_control_database_paused", 1)
	require.NoError(t, identity.On(w.Store).Resume(t.Context(), time.Time{}))
	<-time.After(10 * time.Second)
	read(t, m).is(t, "jobagent_control_database_paused", 0)
}

// A session holds the application lock of passes.
func nobodyAdvances(t *testing.T) {
	w, m := world(t, 1)
	w.AddJob(t, "j", []string{"SELECT 1;"})
	w.StartAgent(t, agent.Config{}, nil)
	<-time.After(time.Second)
	read(t, m).is(t, "jobagent_passes_total{result=skipped}", 0)
	_, ended := w.Ended(t, w.Start(t, "j"), time.Minute)
	require.True(t, ended)
	conn, err := w.DB(t, w.Control).Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "EXECUTE sp_getapplock @Resource = N'jobagent.advance', @LockMode = N'Exclusive', @LockOwner = N'Session', @DbPrincipal = N'jobs_agent';")
	require.NoError(t, err)
	w.Start(t, "j")
	<-time.After(20 * time.Second)
	s := read(t, m)
	s.between(t, "jobagent_passes_total{result=skipped}", 10, 1000)
	s.between(t, "jobagent_advance_age_seconds", 15, 25)
	_, err = conn.ExecContext(t.Context(), "EXECUTE sp_releaseapplock @Resource = N'jobagent.advance', @LockOwner = N'Session', @DbPrincipal = N'jobs_agent';")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	<-time.After(5 * time.Second)
	read(t, m).is(t, "jobagent_advance_age_seconds", 0)
}

// Actions succeed, are answered with an error, and name an address that the agent does not call.
func actions(t *testing.T) {
	w, m := world(t, 0)
	e := endpoint.New(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			rw.WriteHeader(http.StatusTeapot)
		}
	})
	cfg := e.Config()
	cfg.OnConnect = func(elapsed time.Duration, class targets.Class) { m.Outbound().Dialed(elapsed, string(class)) }
	cfg.Resolver = names{}
	network, err := outbound.New(cfg)
	require.NoError(t, err)
	w.Actions = agent.Actions{Runners: map[action.Type]targets.ActionRunner{
		action.TypeHTTP: actionhttp.NewRunner(network, actionhttp.Config{Version: "test"}),
	}}
	kind, none := string(action.TypeHTTP), 0
	for job, url := range map[string]string{"good": "http://api.example.com/", "bad": "http://api.example.com/bad", "refused": "http://internal.example.com/"} {
		_, err := catalog.On(w.Store).AddJob(t.Context(), jobmodel.JobSpec{Name: job})
		require.NoError(t, err)
		_, err = catalog.On(w.Store).AddJobStep(t.Context(), jobmodel.StepSpec{
			JobName: job, CommandType: &kind, Command: new(`{"url": "` + url + `", "allow_http": true}`), RetryAttempts: &none,
		})
		require.NoError(t, err)
	}
	w.StartAgent(t, agent.Config{}, nil)
	for _, job := range []string{"good", "bad", "refused"} {
		_, ended := w.Ended(t, w.Start(t, job), time.Minute)
		require.True(t, ended)
	}
	s := read(t, m)
	s.is(t, "jobagent_action_requests_total{command_type=Http,class=none,status=2xx}", 1)
	s.is(t, "jobagent_action_requests_total{command_type=Http,status=4xx}", 1)
	s.is(t, "jobagent_action_requests_total{command_type=Http,class=Config,status=none}", 1)
	s.is(t, "jobagent_tasks_total{command_type=Http,outcome=Succeeded}", 1)
	s.is(t, "jobagent_outbound_connections_opened_total", 2)
	s.is(t, "jobagent_outbound_connection_failures_total{class=Config}", 1)
	s.is(t, "jobagent_outbound_connect_duration_seconds", 3)
	s.is(t, "jobagent_cache_reads_total{cache=definitions,result=miss}", 3)
}

// names resolves the names of hosts.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasPrefix(host, "internal.") {
		return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// A call is a deadlock victim twice.
func deadlock(t *testing.T) {
	var left atomic.Int64
	env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement && strings.HasSuffix(p.Request, "sp_add_job") && left.Add(-1) >= 0 {
			return mserr.Deadlock(60, "lock")
		}
		return nil
	}})
	store, _ := env.Control(t)
	m := metrics.New(metrics.Build{})
	observed, stop := m.Database(database).Observe(store, metrics.ClientFront)
	defer stop()
	observed = observed.WithDeadlockRetries(func(string, time.Duration) {})
	left.Store(2)
	_, err := catalog.On(observed).AddJob(t.Context(), jobmodel.JobSpec{Name: "j"})
	require.NoError(t, err)
	_, err = catalog.On(observed).AddJob(t.Context(), jobmodel.JobSpec{Name: "j"})
	require.ErrorIs(t, err, dberror.ErrJobExists)
	s := read(t, m)
	s.is(t, "jobagent_controldb_retries_total{client=front}", 2)
	s.is(t, "jobagent_controldb_errors_total{client=front,error=1205}", 2)
	s.between(t, "jobagent_controldb_errors_total", 3, 3)
	s.is(t, "jobagent_controldb_call_duration_seconds{call=jobs.sp_add_job}", 4)
}

// Calls wait for the only connection, which is closed when it has been idle.
func connections(t *testing.T) {
	env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement && strings.HasSuffix(p.Request, "sp_add_job") {
			<-time.After(time.Second)
		}
		return nil
	}})
	_, control := env.Control(t)
	store, err := controldb.New(controldb.Config{Connector: env.Connector(t, control), MaxConns: 1})
	require.NoError(t, err)
	defer store.Close()
	m := metrics.New(metrics.Build{})
	observed, stop := m.Database(database).Observe(store, metrics.ClientFront)
	defer stop()
	var calls sync.WaitGroup
	for _, job := range []string{"a", "b"} {
		calls.Go(func() {
			_, err := catalog.On(observed).AddJob(t.Context(), jobmodel.JobSpec{Name: job})
			require.NoError(t, err)
		})
	}
	<-time.After(500 * time.Millisecond)
	s := read(t, m)
	s.is(t, "jobagent_controldb_connections{client=front,state=in_use}", 1)
	s.is(t, "jobagent_controldb_connections_limit{client=front}", 1)
	calls.Wait()
	s = read(t, m)
	s.is(t, "jobagent_controldb_connections{client=front,state=idle}", 1)
	s.is(t, "jobagent_controldb_connection_waits_total{client=front}", 1)
	s.between(t, "jobagent_controldb_connection_wait_seconds_total{client=front}", 1, 10)
	<-time.After(20 * time.Minute)
	s = read(t, m)
	s.is(t, "jobagent_controldb_connections_closed_total{client=front}", 1)
}

// A front answers requests; a browser has a stream open, and two people sign in.
func front(t *testing.T) {
	m := metrics.New(metrics.Build{})
	server, err := rest.New(rest.Config{
		Mounts:   []*rest.Mount{{Surface: scrape.NewSurface(m.Handler(), true)}},
		Observer: m.Rest(), Log: zap.NewNop(),
	})
	require.NoError(t, err)
	l, err := rest.Listen(t.Context(), rest.ListenConfig{Address: "127.0.0.1:0", InsecureHTTP: true}, zap.NewNop())
	require.NoError(t, err)
	m.Rest().Connections(l.Connections)
	hub := live.NewHub(live.Config{Topics: []live.Topic{{
		Pattern: "topic", Interval: time.Hour, Open: func(string) (live.Source, error) { return silent{}, nil },
	}}})
	m.Web().Streams(hub.Streams)
	m.Web().SignedIn(true)
	m.Web().SignedIn(false)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, server) }() // ends with stop
	client := &http.Client{Transport: &http.Transport{}}
	for path, status := range map[string]int{"/metrics": 200, "/unknown": 404} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL()+path, nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode)
	}
	watching, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() { // ends with leave
		defer close(left)
		r, _ := http.NewRequestWithContext(watching, http.MethodGet, "/", nil)
		hub.Serve(discard{http.Header{}}, r, live.Stream{Base: "/ui/jobs", Topic: "topic", Session: uuid.NewString()})
	}()
	require.Eventually(t, func() bool { return hub.Streams() == 1 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		n, _ := read(t, m).value("jobagent_rest_requests_total")
		return n == 2
	}, 10*time.Second, time.Millisecond)
	s := read(t, m)
	s.is(t, "jobagent_rest_requests_total{surface=metrics,operation=Metrics_Get,status=2xx}", 1)
	s.is(t, "jobagent_rest_requests_total{operation=none,status=4xx}", 1)
	s.is(t, "jobagent_rest_request_duration_seconds{operation=Metrics_Get}", 1)
	s.between(t, "jobagent_rest_connections", 1, 2)
	s.is(t, "jobagent_web_streams", 1)
	s.is(t, "jobagent_web_sign_ins_total{result=ok}", 1)
	s.is(t, "jobagent_web_sign_ins_total{result=refused}", 1)
	leave()
	<-left
	read(t, m).is(t, "jobagent_web_streams", 0)
	hub.Close()
	client.CloseIdleConnections()
	stop()
	require.NoError(t, <-ended)
}

// discard is a client that reads nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) Flush()                      {}

// SetWriteDeadline is for http.ResponseController.
func (d discard) SetWriteDeadline(time.Time) error { return nil }

// silent is a topic without news.
type silent struct{}

func (silent) Next(context.Context, *controldb.Store) ([]live.Event, error) { return nil, nil }
func (silent) Snapshot() []live.Event                                       { return nil }
