package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/testenv"
)

// bake starts n roll-outs of n jobs and waits until all of them bake, for a day.
func (w *World) bake(t testing.TB, n int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("job %d", i)
		w.AddJob(t, name, []string{"SELECT 1;"})
		require.NoError(t, catalog.On(w.Store).SetJobRollout(t.Context(), name,
			`{"waves": [{"name": "canary", "targets": 1, "bake_seconds": 86400}, {"name": "rest", "targets": "rest"}], "deadline_seconds": 864000}`, nil))
		w.Start(t, name)
	}
	for deadline := time.Now().Add(10 * time.Minute); w.baking(t) < n; <-time.After(250 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%d of %d roll-outs bake", w.baking(t), n)
	}
}

// baking counts the roll-outs that bake.
func (w *World) baking(t testing.TB) (n int) {
	t.Helper()
	require.NoError(t, w.DB(t, w.Control).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs_internal.rollouts WHERE state = N'Baking';").Scan(&n))
	return n
}

// rolloutRows returns all that the control database stores about roll-outs and runs.
func (w *World) rolloutRows(t testing.TB) (text string) {
	t.Helper()
	require.NoError(t, w.DB(t, w.Control).QueryRowContext(t.Context(), `SELECT CONCAT(
    (SELECT * FROM jobs_internal.rollouts ORDER BY execution_id FOR JSON PATH),
    (SELECT * FROM jobs_internal.rollout_waves ORDER BY execution_id, wave FOR JSON PATH),
    (SELECT * FROM jobs_internal.job_executions ORDER BY execution_id FOR JSON PATH));`).Scan(&text))
	return text
}

// While 100 roll-outs bake, an agent makes no more calls than an idle one, no pass is due again at
// once, and none writes a row of a roll-out or of a run.
func TestBakingRollOutsCostNoCalls(t *testing.T) {
	testenv.Long(t)
	calls := map[int]int{}
	for _, n := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			w := NewWorld(t, 3)
			a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 50}, nil)
			w.bake(t, n)
			<-time.After(time.Minute)
			const quiet = 10 * time.Minute
			rows, before := w.rolloutRows(t), a.Control.Calls()
			<-time.After(quiet)
			calls[n] = a.Control.Calls() - before
			require.LessOrEqual(t, calls[n], quietCalls(quiet))
			require.Equal(t, rows, w.rolloutRows(t))
			require.Equal(t, n, w.baking(t))
			require.NoError(t, a.Stop())
			w.Check(t, false)
		})
	}
	t.Logf("calls in ten minutes: %d idle, %d while 100 roll-outs bake", calls[0], calls[100])
	require.InDelta(t, calls[0], calls[100], 60, "ten a minute begin at other instants")
}

// BenchmarkIdlePass measures a pass that finds nothing to do, without and with roll-outs that bake.
func BenchmarkIdlePass(b *testing.B) {
	for _, n := range []int{0, 100} {
		b.Run(fmt.Sprintf("baking=%d", n), func(b *testing.B) {
			w := NewWorld(b, 3)
			a := w.StartAgent(b, agent.Config{MaxConcurrentTargets: 50}, nil)
			w.bake(b, n)
			require.NoError(b, a.Stop())
			term, err := w.Store.StartTerm(b.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "v", MaxConcurrentTargets: 50}, time.Hour)
			require.NoError(b, err)
			for b.Loop() {
				pass, err := w.Store.Pass(b.Context(), controldb.PassRequest{Term: term.ID, MaxTasks: 50, MaxConcurrentTargets: 50})
				require.NoError(b, err)
				require.Empty(b, pass.Tasks)
			}
		})
	}
}
