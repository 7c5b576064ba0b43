package sim

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/endpoint"
	"github.com/jobagent/jobagent/testenv/fault"
)

// addCall creates a job that calls an endpoint, and sets the step's reaction to an unknown outcome.
func (w *World) addCall(t *testing.T, onUnknown string, options ...func(*jobmodel.StepSpec)) {
	t.Helper()
	_, err := catalog.On(w.Store).AddJob(t.Context(), jobmodel.JobSpec{Name: "call"})
	require.NoError(t, err)
	kind := string(action.TypeHTTP)
	spec := jobmodel.StepSpec{JobName: "call", CommandType: &kind, Command: new(`{"url": "http://api.example.com/", "allow_http": true, "response_timeout_seconds": 300}`)}
	for _, option := range options {
		option(&spec)
	}
	_, err = catalog.On(w.Store).AddJobStep(t.Context(), spec)
	require.NoError(t, err)
	_, err = catalog.On(w.Store).UpdateJobStep(t.Context(), jobmodel.StepSpec{JobName: "call", OnUnknownOutcome: &onUnknown})
	require.NoError(t, err)
}

// silentRunner cuts its agent off from the control database at a phase of the first attempt, as if
// the process were frozen, and continues when another agent has had time to take the task over.
type silentRunner struct {
	targets.ActionRunner
	lease       time.Duration
	agent       *Agent
	beforeBegin bool // freeze before begin_send, not after it
	frozen      int
}

// Run implements targets.ActionRunner.
func (r *silentRunner) Run(ctx context.Context, a targets.ActionAttempt) targets.Result {
	begin := a.Begin
	a.Begin = func(ctx context.Context) (time.Time, error) {
		if r.beforeBegin {
			r.freeze()
		}
		before, err := begin(ctx)
		if !r.beforeBegin {
			r.freeze()
		}
		return before, err
	}
	// A frozen process does not see that its contexts end.
	return r.ActionRunner.Run(context.WithoutCancel(ctx), a)
}

// freeze lasts for three leases.
func (r *silentRunner) freeze() {
	r.frozen++
	r.agent.Control.Silence()
	<-time.After(3 * r.lease)
	r.agent.Control.Heal()
}

// An agent that was frozen before the first byte sends nothing when it continues. If it was frozen
// before begin_send, another agent sends the request. After begin_send, it is unknown whether the
// request was sent, and the step's option decides.
func TestFrozenAgentSendsNothing(t *testing.T) {
	testenv.Long(t)
	const lease = 12 * time.Second
	for name, tc := range map[string]struct {
		beforeBegin bool
		onUnknown   string
		lifecycle   jobs.Lifecycle
		requests    int
	}{
		"BeforeBegin":     {beforeBegin: true, onUnknown: "Fail", lifecycle: jobs.Succeeded, requests: 1},
		"AfterBegin":      {onUnknown: "Fail", lifecycle: jobs.Failed, requests: 0},
		"AfterBeginRetry": {onUnknown: "Retry", lifecycle: jobs.Succeeded, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 0)
				e := endpoint.New(t, func(http.ResponseWriter, *http.Request) {})
				cfg := agent.Config{Lease: lease}
				frozen := &silentRunner{ActionRunner: e.Runners(t)[action.TypeHTTP], lease: lease, beforeBegin: tc.beforeBegin}
				w.Actions = agent.Actions{Runners: map[action.Type]targets.ActionRunner{action.TypeHTTP: frozen}}
				first := w.StartAgent(t, cfg, nil)
				frozen.agent = first
				w.addCall(t, tc.onUnknown, Retries(3, 1))
				id := w.Start(t, "call")
				require.Eventually(t, func() bool { return len(callsOf(t, w)) == 1 }, 10*time.Second, 50*time.Millisecond)
				w.Actions = agent.Actions{Runners: e.Runners(t)}
				second := w.StartAgent(t, cfg, nil)
				root, ended := w.Ended(t, id, 2*time.Minute)
				require.True(t, ended)
				require.Equal(t, tc.lifecycle, root.Lifecycle, root.LastMessage)
				<-time.After(5 * lease) // the first agent continues
				require.Len(t, e.Requests(), tc.requests)
				require.Equal(t, 1, frozen.frozen)
				require.NoError(t, first.Stop())
				require.NoError(t, second.Stop())
				w.Check(t, true)
			})
		})
	}
}

// callsOf lists the tasks of targets that agents hold.
func callsOf(t *testing.T, w *World) (ids []int64) {
	t.Helper()
	rows, err := w.DB(t, w.Control).QueryContext(t.Context(),
		"SELECT k.task_id FROM jobs_internal.task_executions AS k WHERE k.kind = N'Run' AND k.ended_at IS NULL;")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id int64
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}

// callOnce runs a step that must not be repeated after an unknown outcome, with an agent whose
// calls fail as plan says. It requires at most one request, and returns whether plan was applied.
func callOnce(t *testing.T, plan func(fault.Call) fault.Kind) (applied bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 0)
		e := endpoint.New(t, func(http.ResponseWriter, *http.Request) {})
		w.Actions = agent.Actions{Runners: e.Runners(t)}
		w.addCall(t, "Fail", Retries(3, 1))
		a := w.StartAgent(t, agent.Config{Lease: 12 * time.Second}, func(c fault.Call) fault.Kind {
			kind := plan(c)
			applied = applied || kind != fault.None
			return kind
		})
		root, ended := w.Ended(t, w.Start(t, "call"), 5*time.Minute)
		require.True(t, ended)
		if root.Lifecycle == jobs.Succeeded {
			require.Len(t, e.Requests(), 1)
		} else { // the outcome was lost with the term
			require.Equal(t, jobs.Failed, root.Lifecycle, root.LastMessage)
			require.LessOrEqual(t, len(e.Requests()), 1)
		}
		require.NoError(t, a.Stop())
		w.Check(t, true)
	})
	return applied
}

// The first call of begin_send fails, in each of the ways in which calls fail.
func TestBeginSendFails(t *testing.T) {
	testenv.Long(t)
	for _, kind := range fault.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			failed := false
			require.True(t, callOnce(t, func(c fault.Call) fault.Kind {
				if failed || !strings.Contains(c.Name, "begin_send") {
					return fault.None
				}
				failed = true
				return kind
			}))
		})
	}
}

// Each call of the agent fails, in each of the ways in which calls fail.
func TestSweepOfActions(t *testing.T) {
	testenv.Long(t)
	step := 13
	if *sweepFull {
		step = 1
	}
	runs := 0
	for i, kind := range fault.Kinds {
		for n := 1 + i; ; n += step {
			if !callOnce(t, func(c fault.Call) fault.Kind {
				if c.N == n {
					return kind
				}
				return fault.None
			}) || t.Failed() || n > 60 {
				break
			}
			runs++
		}
	}
	t.Logf("%d runs", runs)
}
