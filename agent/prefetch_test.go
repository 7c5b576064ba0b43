package agent_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// A target's time limit counts from its claim. While long scripts keep all workers busy, no task is
// prefetched, so that no target reaches its limit before its script has started.
func TestLongScriptsAreNotPrefetched(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 5)
		f.AddJob(t, "long", []string{"WAITFOR DELAY '00:05:00';"}, timeout(320))
		f.startAgent(t, agent.Config{MaxConcurrentTargets: 2, PollIdle: time.Second})
		rows := f.ended(t, f.Start(t, "long"), time.Hour)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[0].LastMessage)
		require.Less(t, rows[0].EndTime.Sub(rows[0].StartTime), 15*time.Minute+2*time.Second, "three rounds of five minutes")
	})
}

// Tasks that were prefetched while scripts were short are returned uncounted when long scripts
// follow.
func TestPrefetchedTasksAreReturned(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		const n = 20
		f := newFixture(t, env, n)
		f.AddJob(t, "mixed", []string{"IF DB_NAME() >= N'db3' WAITFOR DELAY '00:05:00';"}, timeout(320))
		f.startAgent(t, agent.Config{MaxConcurrentTargets: 4, PollIdle: time.Second})
		rows := f.ended(t, f.Start(t, "mixed"), 3*time.Hour)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[0].LastMessage)
		for _, e := range rows[2:] {
			require.Equal(t, 1, e.Attempts, e.Database)
		}
		var returned int
		f.query(t, f.Control, "SELECT COUNT(*) FROM jobs_internal.task_executions AS k WHERE k.outcome = N'Returned';", &returned)
		require.Positive(t, returned)
	})
}

// While the queue feeds fast workers, the agent makes no passes by time.
func TestFedWorkersNeedNoTimedPasses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 40)
		f.AddJob(t, "short", []string{"WAITFOR DELAY '00:00:00.050';"})
		var passes atomic.Int64
		f.startAgent(t, agent.Config{
			MaxConcurrentTargets: 4, PollActive: 2 * time.Millisecond, PollIdle: time.Second, Alive: func() { passes.Add(1) },
		})
		rows := f.ended(t, f.Start(t, "short"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[0].LastMessage)
		t.Log(passes.Load(), "passes")
		require.Less(t, passes.Load(), int64(150), "ten rounds of 50 ms; passes every 2 ms are 250")
	})
}
