package controldb_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// checker starts a term of an agent that makes preflights.
func (c *control) checker(t *testing.T) controldb.TermID {
	t.Helper()
	agent := controldb.Agent{
		ID: uuid.New(), Host: "host", Version: "test", MaxConcurrentTargets: 100, Modes: []controldb.RunMode{controldb.ModePreflight},
	}
	term, err := c.StartTerm(t.Context(), agent, time.Hour)
	require.NoError(t, err)
	return term.ID
}

// preflights plays an agent until nothing more happens: groups have the databases, and outcome
// decides about each preflight and each script. It returns the databases of both, in order.
func (c *control) preflights(
	t *testing.T, term controldb.TermID, databases []string, outcome func(controldb.Task) targets.Outcome,
) (checked, ran []string) {
	t.Helper()
	for idle := 0; idle < 3; {
		r := c.pass(t, term)
		if idle++; len(r.Tasks) > 0 || r.More() {
			idle = 0
		}
		for _, task := range r.Tasks {
			if task.Kind == controldb.TaskResolve {
				require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, resolution(task, databases)))
				continue
			}
			into, message := &ran, "m"
			if task.Mode == controldb.ModePreflight {
				into, message = &checked, lacks
			}
			*into = append(*into, task.Target.Database)
			if task.Mode == controldb.ModePreflight {
				c.checkProgress(t, task)
			}
			c.complete(t, term, outcome(task), message, task)
		}
	}
	return checked, ran
}

// checkProgress compares how many targets of the wave that is in its preflight are checked with the
// view of the preflight's run.
func (c *control) checkProgress(t *testing.T, task controldb.Task) {
	t.Helper()
	var rollout uuid.UUID
	for _, w := range c.rows(t, `SELECT CAST(job_execution_id AS NVARCHAR(36)) FROM jobs.rollouts WHERE ended_at IS NULL`) {
		rollout = uuid.MustParse(w)
	}
	waves, err := rollouts.On(c.Store).Waves(t.Context(), rollout)
	require.NoError(t, err)
	found := 0
	for _, w := range waves {
		checked, all, err := rollouts.On(c.Store).PreflightProgress(t.Context(), w)
		require.NoError(t, err)
		if w.State != rollouts.WavePreflight {
			require.Zero(t, checked+all, w.Name)
			continue
		}
		found++
		require.Equal(t, task.JobExecutionID, w.PreflightRun)
		require.Equal(t, c.rows(t, fmt.Sprintf(`SELECT COUNT(*) FROM jobs.job_execution_targets WHERE job_execution_id = '%s'
AND lifecycle IN (N'Succeeded', N'Failed', N'Skipped')`, w.PreflightRun)), []string{fmt.Sprint(checked)})
		require.Less(t, checked, all, "the task has not ended")
		require.GreaterOrEqual(t, all, w.Targets)
	}
	require.Equal(t, 1, found)
}

// on fails the preflights of these databases.
func on(names ...string) func(controldb.Task) targets.Outcome {
	return func(task controldb.Task) targets.Outcome {
		if task.Mode == controldb.ModePreflight && slices.Contains(names, task.Target.Database) {
			return targets.Failed
		}
		return targets.Succeeded
	}
}

// shown are the targets of a roll-out that are not as they were at the start.
func (c *control) shown(t *testing.T) []string {
	t.Helper()
	return c.rows(t, `SELECT database_name, state, preflight FROM jobs.rollout_targets WHERE state <> N'Pending' OR preflight IS NOT NULL ORDER BY wave, place`)
}

// decision calls a procedure for a roll-out.
func (c *control) decision(t *testing.T, procedure string, run uuid.UUID) {
	t.Helper()
	c.exec(t, `EXECUTE jobs.`+procedure+` @p1`, run.String())
}

const lacks = "Preflight: rights: the login lacks ALTER."

// TestPreflightRefuses: a wave does not start while the preflight of a target fails, no script runs
// there, and a retry makes the preflight again.
func TestPreflightRefuses(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.checker(t)
		c.job(t, "j", once)
		c.plan(t, members{"preflight": "refuse", "preflight_options": members{"rights": []string{"ALTER"}}},
			members{"name": "canary", "targets": 2}, members{"name": "rest", "targets": "rest"})
		run := c.start(t, "j")
		databases := numbered(5)
		checked, ran := c.preflights(t, term, databases, on("d03"))
		require.Equal(t, databases, checked)
		require.Equal(t, databases[:2], ran)
		require.Equal(t, "Stopped: Passed Stopped", c.rollout(t, run))
		require.Equal(t, []string{"Wave 'rest': 1 of 3 targets failed the preflight."}, c.rows(t, `SELECT reason FROM jobs.rollouts`))
		require.Equal(t, []string{"Not started: 1 of 3 targets failed the preflight.|1|0|1"}, c.rows(t,
			`SELECT w.gate, w.preflight_failed, w.left_out, COUNT(e.job_execution_id) FROM jobs.rollout_waves AS w
INNER JOIN jobs.job_execution_origins AS e ON e.job_execution_id = w.preflight_run_id AND e.mode = N'Preflight' AND e.mode_options = N'{"rights":["ALTER"]}'
WHERE w.run_id IS NULL GROUP BY w.gate, w.preflight_failed, w.left_out`))
		require.Equal(t, []string{"d00|Succeeded|NULL", "d01|Succeeded|NULL", "d03|Pending|" + lacks}, c.shown(t))
		c.unbroken(t, t)

		testenv.SetSlices(t, c.db, 2)
		c.decision(t, "sp_retry_rollout_wave", run)
		checked, ran = c.preflights(t, term, databases, on("d04"))
		require.Equal(t, databases[2:], checked)
		require.Empty(t, ran)
		require.Equal(t, []string{"d04|Pending|" + lacks}, c.shown(t)[2:])

		c.decision(t, "sp_retry_rollout_wave", run)
		checked, ran = c.preflights(t, term, databases, on())
		require.Equal(t, databases[2:], checked)
		require.Equal(t, databases[2:], ran)
		require.Equal(t, "Succeeded: Passed Passed", c.rollout(t, run))
		require.Equal(t, "Succeeded", c.lifecycle(t, run))
		c.unbroken(t, t)
	})
}

// TestPreflightCanceled: a preflight that was canceled has not passed, whatever it found before.
// The wave may be skipped, and the roll-out aborted.
func TestPreflightCanceled(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.checker(t)
		for _, action := range []string{"refuse", "leave_out"} {
			job := "j " + action
			c.job(t, job, func(s *model.StepSpec) { once(s); s.MaxParallelism = ptr(1) })
			require.NoError(t, catalog.On(c.Store).SetJobRollout(t.Context(), job, `{"waves": [{"name": "a", "targets": 2}, {"name": "b", "targets": "rest"}], "preflight": "`+action+`"}`, nil))
			run := c.start(t, job)
			checked, ran := c.preflights(t, term, numbered(4), func(task controldb.Task) targets.Outcome {
				// The other target of the wave is not claimed yet.
				if task.Mode == controldb.ModePreflight && task.Target.Database == "d00" {
					require.NoError(t, executions.On(c.Store).Stop(t.Context(), task.JobExecutionID))
				}
				return targets.Succeeded
			})
			require.Equal(t, []string{"d00"}, checked)
			require.Empty(t, ran)
			require.Equal(t, "Stopped: Stopped Pending", c.rollout(t, run))
			require.Equal(t, []string{"Wave 'a': its preflight was canceled."}, c.rows(t, `SELECT reason FROM jobs.rollouts WHERE ended_at IS NULL`))

			c.decision(t, "sp_skip_rollout_wave", run)
			checked, ran = c.preflights(t, term, numbered(4), on())
			require.Equal(t, []string{"d02", "d03"}, checked)
			require.Equal(t, []string{"d02", "d03"}, ran)
			require.Equal(t, "Succeeded: Skipped Passed", c.rollout(t, run))
			require.Equal(t, "SucceededWithSkipped", c.lifecycle(t, run))
			c.unbroken(t, t)
		}
		run := c.start(t, "j refuse")
		c.preflights(t, term, numbered(4), on("d00"))
		c.decision(t, "sp_abort_rollout", run)
		c.preflights(t, term, numbered(4), on())
		require.Equal(t, "Aborted: Stopped Pending", c.rollout(t, run))
	})
}

// TestPreflightWarns: the wave starts, and the findings are shown.
func TestPreflightWarns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.checker(t)
		c.job(t, "j", once)
		c.plan(t, members{"preflight": "warn"}, members{"name": "all", "targets": "rest"})
		run := c.start(t, "j")
		checked, ran := c.preflights(t, term, numbered(3), on("d01", "d02"))
		require.Equal(t, numbered(3), checked)
		require.Equal(t, numbered(3), ran)
		require.Equal(t, "Succeeded: Passed", c.rollout(t, run))
		require.Equal(t, []string{"d00|Succeeded|NULL", "d01|Succeeded|" + lacks, "d02|Succeeded|" + lacks}, c.shown(t))
		require.Equal(t, []string{"2|0"}, c.rows(t, `SELECT preflight_failed, left_out FROM jobs.rollout_waves`))
		c.unbroken(t, t)
	})
}

// TestPreflightLeavesOut: targets that fail the preflight of any step are left out, and the others
// run; percentages are those of the targets that run. If none is left, the wave does not start.
func TestPreflightLeavesOut(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 3)
		term := c.checker(t)
		c.job(t, "j", once, once)
		c.plan(t, members{"preflight": "leave_out"},
			members{"name": "canary", "targets": 2}, members{"name": "rest", "targets": "rest", "max_failed": "25%"})
		run := c.start(t, "j")
		databases := numbered(10)
		checked, ran := c.preflights(t, term, databases, on("d00", "d01"))
		require.Equal(t, databases[:2], checked)
		require.Empty(t, ran)
		require.Equal(t, []string{"Wave 'canary': none of its 2 targets passed the preflight."}, c.rows(t, `SELECT reason FROM jobs.rollouts`))
		require.Equal(t, []string{"d00|LeftOut|" + lacks, "d01|LeftOut|" + lacks}, c.shown(t))
		c.unbroken(t, t)

		c.decision(t, "sp_retry_rollout_wave", run)
		// Of the rest, d03 fails before the first step, and d05 before the second one.
		fails := on("d00", "d03")
		checked, ran = c.preflights(t, term, databases, func(task controldb.Task) targets.Outcome {
			if task.Mode == controldb.ModePreflight && task.StepID == 2 && task.Target.Database == "d05" ||
				task.Mode == "" && task.Target.Database == "d09" {
				return targets.Failed
			}
			return fails(task)
		})
		require.Equal(t, slices.Concat(
			[]string{"d00", "d01"}, []string{"d01"}, []string{"d01"}, // d00 is left out before the second step
			databases[2:], slices.DeleteFunc(slices.Clone(databases[2:]), func(d string) bool { return d == "d03" }),
			slices.DeleteFunc(slices.Clone(databases[2:]), func(d string) bool { return d == "d03" }),
		), checked)
		want := []string{"d02", "d04", "d06", "d07", "d08", "d09"}
		require.Equal(t, slices.Concat([]string{"d01", "d01"}, want), ran, "the second step does not follow the failed one")
		require.Equal(t, []string{"1|2|1|0", "2|8|2|1"}, c.rows(t, `SELECT wave, targets, left_out, max_failed FROM jobs.rollout_waves ORDER BY wave`))
		require.Equal(t, []string{
			"d00|LeftOut|" + lacks, "d01|Succeeded|NULL", "d03|LeftOut|" + lacks, "d05|LeftOut|" + lacks,
		}, slices.DeleteFunc(c.shown(t), func(row string) bool { return slices.Contains(want, row[:3]) }))
		require.Equal(t, []string{"10|3"}, c.rows(t, `SELECT targets, left_out FROM jobs.rollouts`))
		c.unbroken(t, t)

		// The wave has run, so a retry leaves out none.
		require.Equal(t, "Stopped: Passed Stopped", c.rollout(t, run))
		c.decision(t, "sp_retry_rollout_wave", run)
		checked, ran = c.preflights(t, term, databases, on("d09"))
		require.Contains(t, checked, "d09")
		require.Empty(t, ran)
		require.Equal(t, []string{"Wave 'rest': 1 of 8 targets failed the preflight, and a wave that has run leaves out none."}, c.rows(t, `SELECT reason FROM jobs.rollouts`))
		c.decision(t, "sp_retry_rollout_wave", run)
		c.preflights(t, term, databases, on())
		require.Equal(t, "Succeeded: Passed Passed", c.rollout(t, run))
		require.Equal(t, "SucceededWithSkipped", c.lifecycle(t, run))
		require.Equal(t, []string{"d00|LeftOut|" + lacks, "d03|LeftOut|" + lacks, "d05|LeftOut|" + lacks}, c.rows(t,
			`SELECT database_name, state, preflight FROM jobs.rollout_targets WHERE state <> N'Succeeded' ORDER BY database_name`))
		c.unbroken(t, t)
	})
}

// TestPreflightDuringAPause: a preflight goes on while the roll-out is paused, but the wave does
// not start; it is checked again when the pause ends. Its targets stay where they are meanwhile.
func TestPreflightDuringAPause(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.checker(t)
		c.job(t, "j", once)
		c.plan(t, members{"preflight": "refuse"}, members{"name": "a", "targets": 2}, members{"name": "b", "targets": "rest"})
		run := c.start(t, "j")
		paused := false
		checked, ran := c.preflights(t, term, numbered(3), func(task controldb.Task) targets.Outcome {
			if !paused {
				paused = true
				require.Equal(t, "Preflight: Preflight Pending", c.rollout(t, run))
				require.Equal(t, []string{"The preflight of the wave 'a' ends."}, c.rows(t, `SELECT next_event FROM jobs.rollouts`))
				_, err := c.db.ExecContext(t.Context(), `EXECUTE jobs.sp_move_rollout_target @p1, @p2, N'b'`, run.String(), task.Target.ID.String())
				require.ErrorContains(t, err, "the wave of the target has started")
				_, err = c.db.ExecContext(t.Context(), `EXECUTE jobs.sp_skip_rollout_wave @p1, N'a'`, run.String())
				require.ErrorContains(t, err, "the wave is Preflight")
				c.decision(t, "sp_pause_rollout", run)
			}
			return targets.Succeeded
		})
		require.Len(t, checked, 2)
		require.Empty(t, ran)
		require.Equal(t, "Starting: Pending Pending", c.rollout(t, run))
		c.decision(t, "sp_resume_rollout", run)
		checked, ran = c.preflights(t, term, numbered(3), on())
		require.Equal(t, numbered(3), checked)
		require.Equal(t, numbered(3), ran)
		c.unbroken(t, t)
	})
}

// TestPreflightOfAMovedTarget: a target that was left out of a wave that somebody then skips may be
// moved to a later one, whose preflight decides about it.
func TestPreflightOfAMovedTarget(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		term := c.checker(t)
		c.job(t, "u", once)
		c.job(t, "j", once)
		c.plan(t, members{"preflight": "leave_out", "undo_job": "u"}, members{"name": "a", "targets": 1}, members{"name": "b", "targets": "rest", "approval": "any"})
		run := c.start(t, "j")
		c.preflights(t, term, numbered(3), on("d00"))
		c.decision(t, "sp_skip_rollout_wave", run)
		c.preflights(t, term, numbered(3), on())
		require.Equal(t, []string{"d00|LeftOut|" + lacks}, c.shown(t))
		c.exec(t, `DECLARE @target UNIQUEIDENTIFIER = (SELECT target_id FROM jobs.rollout_targets WHERE database_name = N'd00');
EXECUTE jobs.sp_move_rollout_target @p1, @target, N'b';`, run.String())
		require.Empty(t, c.shown(t))
		require.Equal(t, []string{"0|0", "3|0"}, c.rows(t, `SELECT targets, left_out FROM jobs.rollout_waves ORDER BY wave`))
		c.decision(t, "sp_approve_rollout", run)
		_, ran := c.preflights(t, term, numbered(3), on("d01"))
		require.Equal(t, []string{"d02", "d00"}, ran)
		require.Equal(t, "SucceededWithSkipped", c.lifecycle(t, run))
		c.unbroken(t, t)

		// An undo makes the preflight, too, and has none of what was left out.
		undo, err := rollouts.On(c.Store).Undo(t.Context(), rollouts.UndoRequest{Rollout: run})
		require.NoError(t, err)
		c.preflights(t, term, numbered(3), on())
		c.decision(t, "sp_approve_rollout", undo)
		checked, ran := c.preflights(t, term, numbered(3), on())
		require.ElementsMatch(t, []string{"d00", "d02"}, checked)
		require.ElementsMatch(t, []string{"d00", "d02"}, ran)
		require.Equal(t, "Succeeded: Passed Passed", c.rollout(t, undo))
		c.unbroken(t, t)
	})
}
