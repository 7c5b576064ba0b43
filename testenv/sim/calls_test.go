package sim

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// driftMessage is the log message of an agent that detects drift.
const driftMessage = "drift: memory and control database do not hold the same tasks"

// failFirst makes the first n calls of a procedure fail.
func failFirst(procedure string, n int, kind fault.Kind) func(fault.Call) fault.Kind {
	var mu sync.Mutex
	return func(c fault.Call) fault.Kind {
		mu.Lock()
		defer mu.Unlock()
		if c.Name != procedure || n == 0 {
			return fault.None
		}
		n--
		return kind
	}
}

// returned counts the tasks that were returned uncounted.
func (w *World) returned(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, w.DB(t, w.Control).QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM jobs_internal.task_executions AS k WHERE k.outcome = N'Returned';").Scan(&n))
	return n
}

// longAfter returns a script that is short on the first n targets and long on the others.
func longAfter(n string) string {
	return "IF CAST(SUBSTRING(DB_NAME(), 3, 10) AS INT) > " + n + " WAITFOR DELAY '01:00:00';"
}

// An agent whose targets wait makes no more calls than an idle agent, however many targets wait. A
// stopped run ends within a second.
func TestWaitingTargetsCostNoCalls(t *testing.T) {
	testenv.Long(t)
	for _, tc := range []struct {
		name    string
		script  string
		limit   int
		running int
	}{
		{"all workers are busy with long scripts", longAfter("0"), 0, 8},
		{"long scripts follow short ones", longAfter("24"), 0, 8},
		{"a limit allows only one target", longAfter("0"), 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 60)
				if tc.limit > 0 {
					require.NoError(t, settings.On(w.Store).SetLimit(t.Context(), jobmodel.Limit{
						Scope: jobmodel.LimitServer, Name: "*", Max: tc.limit,
					}))
				}
				w.AddJob(t, "j", []string{tc.script})
				a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 8}, nil)
				id := w.Start(t, "j")
				w.awaitRequests(t, tc.running)
				<-time.After(10 * time.Second)

				const quiet = 2 * time.Minute
				before, returned := a.Control.Calls(), w.returned(t)
				require.LessOrEqual(t, returned, 8, "prefetched tasks are returned once")
				<-time.After(quiet)
				require.LessOrEqual(t, a.Control.Calls()-before, quietCalls(quiet))
				require.Equal(t, returned, w.returned(t))
				require.Equal(t, tc.running, w.requests(t))

				w.stopWithin(t, id, time.Second)
				require.NoError(t, a.Stop())
				w.Check(t, true)
			})
		})
	}
}

// While long scripts end one after the other, the agent makes a pass about every 50 ms at most, and
// each script that ends is replaced at once.
func TestStaggeredScriptsCostFewCalls(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 100)
		w.AddJob(t, "j", []string{"DECLARE @d DATETIME = DATEADD(MILLISECOND, 5000 + 100 * CAST(SUBSTRING(DB_NAME(), 3, 10) AS INT), 0); WAITFOR DELAY @d;"})
		a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 10}, nil)
		id := w.Start(t, "j")
		w.awaitRequests(t, 10)
		const span = 40 * time.Second
		before := a.Control.Calls()
		<-time.After(span)
		require.LessOrEqual(t, a.Control.Calls()-before, int(30*span/time.Second))
		require.Equal(t, 10, w.requests(t))
		root, ended := w.Ended(t, id, 10*time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
		require.Less(t, root.EndTime.Sub(root.StartTime), 110*time.Second, "1005 s of scripts by ten workers")
	})
}

// Lost answers to deliveries, several times in a row, are not drift. The agent cannot tell whether
// the control database has the outcomes, and must not abandon running tasks.
func TestLostAnswersToOutcomesAreNoDrift(t *testing.T) {
	testenv.Long(t)
	for _, kind := range []fault.Kind{fault.AfterSending, fault.Cut} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 4)
				w.AddJob(t, "j", []string{WriteLedger + " IF DB_NAME() = N'db4' WAITFOR DELAY '00:01:00';"}, Retries(0, 1))
				a := w.StartAgent(t, agent.Config{}, failFirst("jobs_internal.complete_tasks", 6, kind))
				root, ended := w.Ended(t, w.Start(t, "j"), 10*time.Minute)
				require.True(t, ended)
				require.Empty(t, a.Logs.FilterMessage(driftMessage).All())
				require.Len(t, a.Logs.FilterMessage("term started").All(), 1)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				require.NoError(t, a.Stop())
				w.Check(t, true)
			})
		})
	}
}

// Passes continue while a delivery has no answer: a stopped run ends.
func TestSilentDeliveryDoesNotDelayStopRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 2)
		w.AddJob(t, "short", []string{"SELECT 1;"})
		w.AddJob(t, "long", []string{"WAITFOR DELAY '01:00:00';"})
		a := w.StartAgent(t, agent.Config{}, failFirst("jobs_internal.complete_tasks", 1, fault.Stall))
		long := w.Start(t, "long")
		w.awaitRequests(t, 2)
		short := w.Start(t, "short")
		<-time.After(5 * time.Second)
		require.NoError(t, executions.On(w.Store).Stop(t.Context(), long))
		asked := time.Now()
		for w.requests(t) > 0 {
			<-time.After(50 * time.Millisecond)
			require.Less(t, time.Since(asked), time.Second)
		}
		_, ended := w.Ended(t, short, 2*time.Minute)
		require.True(t, ended)
		_, ended = w.Ended(t, long, time.Minute)
		require.True(t, ended)
		require.NoError(t, a.Stop())
		w.Check(t, true)
	})
}

// If a command cannot be read while all other calls succeed, its tasks are not returned and claimed
// in a busy loop.
func TestUnreadableCommandCausesNoBusyLoop(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 12)
		w.AddJob(t, "j", []string{WriteLedger}, Retries(0, 1))
		broken := time.Now().Add(20 * time.Second)
		a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 4}, func(c fault.Call) fault.Kind {
			if c.Name == "jobs_internal.get_command" && time.Now().Before(broken) {
				return fault.Transient
			}
			return fault.None
		})
		id := w.Start(t, "j")
		<-time.After(time.Until(broken))
		require.Less(t, a.Control.Calls(), 40*20, "some calls every 50 ms, and one per worker every 0.9 s")
		root, ended := w.Ended(t, id, 5*time.Second)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
		for _, database := range w.Targets {
			require.Equal(t, 1, w.Ledger(t, database, id, 1))
		}
		require.NoError(t, a.Stop())
		w.Check(t, true)
	})
}
