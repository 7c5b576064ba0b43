package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text returns the metrics in Prometheus' format.
func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

// events calls each method of an agent's metrics, as for one task.
func events(a *metrics.Agent, client controldb.Observer) {
	a.PassAnswered(metrics.Pass{Elapsed: time.Millisecond, Tasks: 1})
	a.TaskTaken("TSql", 2, time.Millisecond)
	a.Cache("commands").Read(true)
	a.TaskEnded("TSql", "Succeeded", time.Second, [16]byte{1})
	a.ActionEnded("Http", "", 200)
	a.Delivered(time.Millisecond)
	a.TermRenewed(time.Second)
	a.RunStarted(time.Second)
	a.InstantHandled("Started")
	if client != nil {
		client.Called("jobs_internal.controller_pass", time.Millisecond, nil)
	}
}

// An event allocates nothing, with and without metrics.
func TestEventsAllocateNothing(t *testing.T) {
	d := metrics.New(metrics.Build{}).Database("jobs")
	client := d.Client(metrics.ClientAgent)
	events(d.Agent(), client) // with an exemplar, which allocates, once a second
	rest, dials := metrics.New(metrics.Build{}).Rest(), d.Targets()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		events(d.Agent(), client)
		rest.Answered("sql", "Jobs_Get", 200, time.Millisecond)
		dials.Dialed(time.Millisecond, "")
	}))
	require.Zero(t, testing.AllocsPerRun(100, func() { events(nil, nil) }))
}

func BenchmarkEvents(b *testing.B) {
	d := metrics.New(metrics.Build{}).Database("jobs")
	agent, client := d.Agent(), d.Client(metrics.ClientAgent)
	for _, one := range []struct {
		name   string
		agent  *metrics.Agent
		client controldb.Observer
	}{{"on", agent, client}, {"off", nil, nil}} {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				events(one.agent, one.client)
			}
		})
	}
}

// Without metrics, everything can be called.
func TestNil(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	d := m.Database("jobs")
	require.Nil(t, d)
	events(d.Agent(), nil)
	d.Agent().CoreFailed(metrics.CauseDrift)
	d.Agent().TermStarted()
	d.Agent().PassFailed(time.Second)
	d.Agent().Watch(nil)()
	d.Targets().Dialed(time.Second, "Auth")
	m.Outbound().Dialed(time.Second, "")
	m.Rest().Answered("", "", 200, time.Second)
	m.Rest().Connections(nil)
	m.Web().Streams(nil)
	m.Web().SignedIn(true)
	d.CountRuns(nil)()
	store, err := controldb.New(controldb.Config{DSN: "sqlserver://u:p@h?database=jobs"})
	require.NoError(t, err)
	defer store.Close()
	same, stop := d.Observe(store, metrics.ClientAgent)
	stop()
	require.Same(t, store, same)
}

// Names and units follow Prometheus' conventions, and only labels with few values are used.
func TestNamesFollowConventions(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	for _, label := range strings.Fields("control_database client command_type outcome result cause lifecycle class status call error state cache surface operation version commit") {
		allowed[label] = true
	}
	form := regexp.MustCompile(`fqName: "([^"]+)", help: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	list := make(chan *prometheus.Desc)
	m := metrics.New(metrics.Build{})
	go func() { // ends with the descriptions
		m.Describe(list)
		close(list)
	}()
	design, err := os.ReadFile("../DESIGN.md")
	require.NoError(t, err)
	for d := range list {
		part := form.FindStringSubmatch(d.String())
		if part == nil || !strings.HasPrefix(part[1], "jobagent_") {
			continue
		}
		require.Regexp(t, `^jobagent_[a-z_]+$`, part[1])
		require.Regexp(t, `\.$`, part[2], part[1])
		line := fmt.Sprintf("| `%s` | %s | %s |", part[1], strings.ReplaceAll(part[3], ",", ", "), part[2])
		require.Contains(t, string(design), line, "DESIGN.md")
		require.NotRegexp(t, `_(ms|milliseconds|minutes|kb|count|sum|bucket)$`, part[1])
		for _, label := range strings.Split(part[3], ",") {
			require.True(t, label == "" || allowed[label], "label %s of %s", label, part[1])
		}
	}
}

// numbered returns an error of SQL Server.
func numbered(number int) error { return mssqldb.Error{Number: int32(number)} }

// However many different errors occur, few metrics are made.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Build{})
	client := m.Database("jobs").Client(metrics.ClientFront)
	for i := range 300 {
		client.Called("call", time.Second, fmt.Errorf("call: %w", numbered(i+1)))
	}
	client.Called("call", time.Second, context.Canceled)
	client.Called("call", time.Second, context.DeadlineExceeded)
	client.Called("call", time.Second, dberror.ErrUnreachable)
	client.Called("call", time.Second, errors.New("a row has no column"))
	all := text(t, m)
	require.LessOrEqual(t, strings.Count(all, "jobagent_controldb_errors_total{"), 101)
	require.Contains(t, all, `jobagent_controldb_errors_total{client="front",control_database="jobs",error="other"} 204`)
	require.Contains(t, all, `error="7"} 1`)
}

// Those who ask within five seconds share a read, and a read that fails or hangs does not keep
// Prometheus waiting.
func TestRunsAreReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.Build{})
		d := m.Database("jobs")
		var reads atomic.Int64
		var fault error
		var hang bool
		start := time.Now()
		read := func(ctx context.Context, since time.Time) (measure.RunCounts, error) {
			n := reads.Add(1)
			require.Equal(t, n == 1, since.IsZero())
			if hang {
				<-ctx.Done()
				return measure.RunCounts{}, context.Cause(ctx)
			}
			return measure.RunCounts{
				Active: map[string]int64{"Created": n}, Ended: map[string]int64{"Failed": 2}, Skips: map[string]int64{"Overlap": 3},
				Until: start.Add(time.Duration(n) * time.Second),
			}, fault
		}
		stop := d.CountRuns(read)
		d.CountRuns(func(context.Context, time.Time) (measure.RunCounts, error) {
			t.Error("the second reader is used although there is a first one")
			return measure.RunCounts{}, nil
		})
		for range 10 {
			require.Contains(t, text(t, m), `jobagent_runs_total{control_database="jobs",lifecycle="Failed"} 2`)
			time.Sleep(400 * time.Millisecond)
		}
		require.EqualValues(t, 1, reads.Load())
		time.Sleep(2 * time.Second)
		all := text(t, m)
		require.EqualValues(t, 2, reads.Load())
		require.Contains(t, all, `jobagent_runs_total{control_database="jobs",lifecycle="Failed"} 4`)
		require.Contains(t, all, `jobagent_active_runs{control_database="jobs",lifecycle="Created"} 2`)
		require.Contains(t, all, `jobagent_schedule_skips_total{cause="Overlap",control_database="jobs"} 6`)

		fault = errors.New("away")
		time.Sleep(5 * time.Second)
		all = text(t, m)
		require.NotContains(t, all, "jobagent_active_runs{", "the numbers are not known")
		require.Contains(t, all, `jobagent_runs_reads_total{control_database="jobs",result="failed"} 1`)
		fault, hang = nil, true
		time.Sleep(5 * time.Second)
		asked := time.Now()
		text(t, m)
		require.Equal(t, 4*time.Second, time.Since(asked))
		hang = false
		time.Sleep(5 * time.Second)
		require.Contains(t, text(t, m), `jobagent_runs_total{control_database="jobs",lifecycle="Failed"} 6`)
		stop()
	})
}

// The duration of attempts has exemplars with the trace ID of the run, at most one a second.
func TestExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New(metrics.Build{})
		a := m.Database("jobs").Agent()
		for i := range byte(10) {
			a.TaskEnded("TSql", "Failed", 2*time.Second, [16]byte{i})
			time.Sleep(300 * time.Millisecond)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text")
		m.Handler().ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), `le="5.0"} 10 # {trace_id="08000000000000000000000000000000"} 2.0 `)
	})
}

// A process is ready while one of its agents holds a term whose lease has time left.
func TestReady(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Build{})
	ready := func() bool {
		ready, why := m.Ready()
		require.Equal(t, ready, why == "")
		return ready
	}
	require.False(t, ready())
	require.NotNil(t, m.Database("waits").Agent())
	require.False(t, ready(), "no term")
	left := time.Duration(0)
	stop := m.Database("jobs").Agent().Watch(func() metrics.State { return metrics.State{LeaseLeft: left} })
	require.False(t, ready(), "the lease has expired")
	left = time.Second
	require.True(t, ready())
	stop()
	require.False(t, ready(), "the term is over")
	_, why := m.Ready()
	require.Contains(t, why, "holds a term")
	m.Database("jobs").Agent().CoreFailed(metrics.CauseSchema)
	_, why = m.Ready()
	require.Contains(t, why, "the control schema does not support this program")
	m.Database("jobs").Agent().CoreFailed(metrics.CauseNoTerm)
	_, why = m.Ready()
	require.Contains(t, why, "holds a term")
}

// A front alone does not say how its control database's agents are.
func TestFrontHasNoAgent(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Build{})
	m.Database("jobs").Client(metrics.ClientFront)
	all := text(t, m)
	require.Contains(t, all, `jobagent_terms_active{control_database="jobs"} 0`)
	require.NotContains(t, all, "jobagent_advance_age_seconds")
	require.NotContains(t, all, "jobagent_tasks_total")
}
