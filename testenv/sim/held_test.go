package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// resolve starts a run of a job on n databases that need not exist, for which the term has resolved
// the target group.
func (w *World) resolve(t testing.TB, term controldb.TermID, n int) {
	t.Helper()
	w.AddJob(t, "j", []string{"SELECT 1;"})
	w.Start(t, "j")
	pass, err := w.Store.Pass(t.Context(), controldb.PassRequest{Term: term, MaxTasks: 50, MaxConcurrentTargets: 50})
	require.NoError(t, err)
	require.Len(t, pass.Tasks, 1)
	r := controldb.Resolution{Attempt: pass.Tasks[0].Attempt, Claim: pass.Tasks[0].Claim}
	for i := range n {
		name := fmt.Sprintf("tenant%d", i)
		r.Targets = append(r.Targets, targets.Target{ID: targets.TargetID("s", name), Server: "s", Database: name})
	}
	require.NoError(t, w.Store.CompleteResolution(t.Context(), term, pass.Tasks[0].ID, r))
}

// BenchmarkHeldPass measures a pass while all targets of a run wait for a window of their
// databases.
func BenchmarkHeldPass(b *testing.B) {
	for _, n := range []int{100, 2_000, 20_000} {
		b.Run(fmt.Sprintf("held=%d", n), func(b *testing.B) {
			w := NewWorld(b, 1)
			require.NoError(b, timetable.On(w.Store).AddCalendar(b.Context(), "later", `{"dates": ["2999-01-01"]}`))
			require.NoError(b, holds.On(w.Store).SetWindow(b.Context(), holds.Window{Name: "all", TagFilter: "tier IS NULL", Calendar: "later"}))
			term, err := w.Store.StartTerm(b.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "v", MaxConcurrentTargets: 50}, time.Hour)
			require.NoError(b, err)
			w.resolve(b, term.ID, n)
			w.passUntilHeld(b, term.ID, n)
			for b.Loop() {
				pass, err := w.Store.Pass(b.Context(), controldb.PassRequest{Term: term.ID, MaxTasks: 50, MaxConcurrentTargets: 50})
				require.NoError(b, err)
				require.Empty(b, pass.Tasks)
			}
		})
	}
}

// passUntilHeld makes passes, which claim nothing, until n targets are held, and returns their
// number.
func (w *World) passUntilHeld(t testing.TB, term controldb.TermID, n int) (passes int) {
	t.Helper()
	for held := 0; held < n; passes++ {
		require.Less(t, passes, n+10)
		pass, err := w.Store.Pass(t.Context(), controldb.PassRequest{Term: term, MaxTasks: 50, MaxConcurrentTargets: 50})
		require.NoError(t, err)
		require.Empty(t, pass.Tasks)
		require.NoError(t, w.DB(t, w.Control).QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM jobs_internal.target_executions WHERE next_attempt_at >= '9999-12-31';").Scan(&held))
	}
	return passes
}

// Many targets that must not start are held by few passes, whatever the number of free workers is,
// also under a limit that permits one at a time; and released by few when their window is deleted.
func TestManyTargetsAreHeldAtOnce(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, limited := range []bool{false, true} {
		w := &World{Installation: testenv.Embedded(t, testenv.Options{}).Install(t, 1)}
		const n = 12_000
		if limited {
			_, err := w.DB(t, w.Control).ExecContext(t.Context(), "EXECUTE jobs.sp_set_limit N'Server', N's', @max_concurrent_targets = 1;")
			require.NoError(t, err)
		}
		require.NoError(t, timetable.On(w.Store).AddCalendar(t.Context(), "later", `{"dates": ["2999-01-01"]}`))
		require.NoError(t, holds.On(w.Store).SetWindow(t.Context(), holds.Window{Name: "all", TagFilter: "tier IS NULL", Calendar: "later"}))
		term, err := w.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "v", MaxConcurrentTargets: 50}, time.Hour)
		require.NoError(t, err)
		w.resolve(t, term.ID, n)
		require.LessOrEqual(t, w.passUntilHeld(t, term.ID, n), 8)

		require.NoError(t, holds.On(w.Store).DeleteWindow(t.Context(), "all"))
		claimed, held := 0, n
		for passes := 0; held > 0; passes++ {
			require.Less(t, passes, 8)
			pass, err := w.Store.Pass(t.Context(), controldb.PassRequest{Term: term.ID, MaxTasks: 50, MaxConcurrentTargets: 50})
			require.NoError(t, err)
			claimed += len(pass.Tasks)
			require.NoError(t, w.DB(t, w.Control).QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM jobs_internal.target_executions WHERE next_attempt_at >= '9999-12-31';").Scan(&held))
		}
		require.Positive(t, claimed)
	}
}
