package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestDurationOfTargets: a target took as long as its agent says, wherever it is shown, and not
// until the control database had its outcome. By the database's clock, all of this takes a moment.
func TestDurationOfTargets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term := c.term(t)
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(1) })
		run := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		c.outcomes(t, term, c.pass(t, term).Tasks, func(database string) controldb.Outcome {
			switch database {
			case "a":
				return controldb.Outcome{Outcome: targets.Succeeded, Elapsed: 90 * time.Second}
			case "b":
				return controldb.Outcome{Outcome: targets.Failed, Message: "no", Elapsed: 70 * time.Second, NoRetry: true}
			}
			return controldb.Outcome{Outcome: targets.Failed, Message: "no", Elapsed: time.Hour} // waits for its retry
		})
		require.NoError(t, executions.On(c.Store).Stop(ctx, run))
		c.pass(t, term)
		target := func(database string) uuid.UUID { return targets.NewTarget("s", database, "").ID }
		want := map[string]int64{"a": 90_000, "b": 70_000}

		rows, err := executions.On(c.Store).Rows(ctx, run)
		require.NoError(t, err)
		listed := 0
		for _, e := range rows {
			if !e.IsTarget() {
				require.Nil(t, e.DurationMS)
				continue
			}
			listed++
			if ms, ok := want[e.Database]; ok {
				require.Equal(t, ms, e.Duration().Milliseconds(), e.Database)
			} else {
				require.Less(t, e.Duration(), 30*time.Minute, "it was canceled while it waited: no attempt ended it")
				require.GreaterOrEqual(t, e.Duration(), time.Duration(0))
			}
		}
		require.Equal(t, 3, listed)

		shown, err := executions.On(c.Store).Targets(ctx, run, executions.RunTargetFilter{})
		require.NoError(t, err)
		watched, err := executions.On(c.Store).TargetsOfStep(ctx, run, 1, 100)
		require.NoError(t, err)
		var ids []int64
		for i := range watched {
			ids = append(ids, watched[i].ID)
		}
		byID, err := executions.On(c.Store).TargetsByID(ctx, run, ids, 100)
		require.NoError(t, err)
		require.Equal(t, watched, byID)
		slowest, err := executions.On(c.Store).Targets(ctx, run, executions.RunTargetFilter{Order: executions.Slowest, Limit: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, []string{slowest[0].Database, slowest[1].Database})
		for name, ms := range want {
			steps, err := executions.On(c.Store).Targets(ctx, run, executions.RunTargetFilter{Target: target(name)})
			require.NoError(t, err)
			require.Equal(t, ms, steps[0].Duration(time.Now()).Milliseconds())
			on, err := executions.On(c.Store).OnTarget(ctx, target(name), "", uuid.Nil, 5)
			require.NoError(t, err)
			require.Equal(t, ms, *on[0].DurationMS)
			found := 0
			for _, s := range shown {
				if s.Database == name {
					require.Equal(t, ms, *s.DurationMS)
					found++
				}
			}
			for _, w := range watched {
				if w.Database == name {
					require.Equal(t, ms, *w.DurationMS)
					found++
				}
			}
			require.Equal(t, 2, found)
		}
		summary, err := executions.On(c.Store).Durations(ctx, run, 0)
		require.NoError(t, err)
		require.Equal(t, int64(90_000), summary.MaxMS)
	})
}

// A clock that jumped back between the attempts makes no duration negative: the histogram takes its
// logarithm.
func TestDurationAfterClockJump(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term := c.term(t)
		c.job(t, "j", func(*model.StepSpec) {})
		run := c.start(t, "j")
		c.resolve(t, term, "a")
		c.outcomes(t, term, c.pass(t, term).Tasks, func(string) controldb.Outcome {
			return controldb.Outcome{Outcome: targets.Succeeded, Elapsed: 2 * time.Second}
		})
		c.exec(t, `UPDATE k
SET k.claimed_at = DATEADD(SECOND, -60, t.start_time)
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id;`)
		shown, err := executions.On(c.Store).Targets(ctx, run, executions.RunTargetFilter{})
		require.NoError(t, err)
		require.Len(t, shown, 1)
		require.Zero(t, *shown[0].DurationMS)
		histogram, err := executions.On(c.Store).Histogram(ctx, run, 0)
		require.NoError(t, err)
		require.Equal(t, []executions.DurationBucket{{Index: 0, Total: 1}}, histogram)
	})
}
