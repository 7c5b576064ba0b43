package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// quietCalls returns the number of calls that an agent makes at most in a span of time if nothing
// is due: 5 a second, 4 a minute to register databases, and 6 a minute to evaluate and deliver
// alerts; agent/alerts waits for up to half a minute between two of either. That is the average, as
// the times between calls have jitter: of 50 spans of two minutes, three had up to 3 calls more.
func quietCalls(span time.Duration) int {
	return int(5*span/time.Second) + int(10*span/time.Minute) + 10
}

// While a long script runs and nothing else happens, an agent makes at most five calls per second,
// like an idle agent. A new run starts within a second, and a stop request ends the scripts on the
// server.
func TestLongScriptsCostNoPasses(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		w := NewWorld(t, n)
		w.AddJob(t, "long", []string{"WAITFOR DELAY '01:00:00';"})
		w.AddJob(t, "short", []string{"SELECT 1;"})
		a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 2 * n}, nil)
		long := w.Start(t, "long")
		w.awaitRequests(t, n)
		<-time.After(10 * time.Second)

		const quiet = 10 * time.Minute
		before := a.Control.Calls()
		<-time.After(quiet)
		calls := a.Control.Calls() - before
		require.Equal(t, n, w.requests(t))
		require.LessOrEqual(t, calls, quietCalls(quiet))
		require.GreaterOrEqual(t, calls, int(2*quiet/time.Second), "the agent polls for stop requests")

		started := time.Now()
		short, ended := w.Ended(t, w.Start(t, "short"), time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Succeeded, short.Lifecycle)
		require.Less(t, short.StartTime.Sub(started), 500*time.Millisecond)

		<-time.After(time.Minute)
		w.stopWithin(t, long, 2*time.Second)
		require.NoError(t, a.Stop())
		w.Check(t, true)
	})
}

// requests counts the scripts that run on the server.
func (w *World) requests(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, w.DB(t, "master").QueryRowContext(t.Context(), `SELECT COUNT(*) FROM sys.dm_exec_requests AS r
INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id
WHERE s.program_name LIKE N'jobagent %' AND r.session_id <> @@SPID;`).Scan(&n))
	return n
}

// awaitRequests waits until n scripts run on the server.
func (w *World) awaitRequests(t testing.TB, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); w.requests(t) < n; <-time.After(100 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%d of %d scripts are running", w.requests(t), n)
	}
}

// stopWithin stops a run. Within limit of virtual time the run must be Canceled, and no script may
// run on the server.
func (w *World) stopWithin(t testing.TB, id uuid.UUID, limit time.Duration) {
	t.Helper()
	require.NoError(t, executions.On(w.Store).Stop(t.Context(), id))
	asked := time.Now()
	root, ended := w.Ended(t, id, limit)
	require.True(t, ended)
	require.Equal(t, jobs.Canceled, root.Lifecycle, root.LastMessage)
	require.LessOrEqual(t, root.EndTime.Sub(asked), limit)
	require.Zero(t, w.requests(t))
}
