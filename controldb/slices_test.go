package controldb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// TestPassesAreCutOff: a pass that is cut off says so, and passes end a stopped run of many targets
// while other runs advance.
func TestPassesAreCutOff(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 2)
		c.job(t, "j", nil)
		term := c.term(t)
		run := c.start(t, "j")
		databases := make([]string, 7)
		for i := range databases {
			databases[i] = fmt.Sprint("d", i)
		}
		c.resolve(t, term, databases...)
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), run))
		other := c.start(t, "j")
		passes := 0
		for c.passMax(t, term, 0).More() {
			passes++
			require.Equal(t, "WaitingForChildJobExecutions", c.lifecycle(t, other))
		}
		require.Equal(t, 3, passes)
		require.Equal(t, "Canceled", c.lifecycle(t, run))
	})
}

// TestLockedCallbacksDoNotRepeatPasses: a callback past its deadline that another session holds is
// no reason for the next pass at once, so an agent does not repeat passes that change nothing.
func TestLockedCallbacksDoNotRepeatPasses(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.env.Requires(t, testenv.RowLocks) // the pass locks a row of another table
		c.httpJob(t, "j", nil)
		term := c.actionTerm(t)
		c.waits(t, term)
		c.exec(t, `UPDATE jobs_internal.callbacks SET deadline_at = DATEADD(SECOND, -5, SYSUTCDATETIME())`)
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.callbacks SET acked = acked`)
		require.NoError(t, err)
		require.False(t, c.pass(t, term).More())
		require.NoError(t, tx.Rollback())
	})
}

// TestLostTasksAreHandedOverInSlices: the tasks of a lost agent end in slices, whoever ends its
// term, and no task is claimed or counted twice meanwhile.
func TestLostTasksAreHandedOverInSlices(t *testing.T) {
	const held = `SELECT COUNT(*) FROM jobs_internal.task_executions WHERE ended_at IS NULL`
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 2)
		c.job(t, "j", nil)
		agent := controldb.Agent{ID: uuid.New(), Host: "host", Version: "test", MaxConcurrentTargets: 100}
		begin := func() controldb.TermID {
			term, err := c.StartTerm(t.Context(), agent, time.Hour)
			require.NoError(t, err)
			return term.ID
		}
		lost := begin()
		c.start(t, "j")
		c.resolve(t, lost, "d0", "d1", "d2", "d3", "d4", "d5", "d6")
		for c.passMax(t, lost, 0).More() {
		}
		require.Len(t, c.pass(t, lost).Tasks, 7)
		drain := func(term controldb.TermID, left ...int) {
			for i, n := range left {
				require.Equal(t, i < len(left)-1, c.passMax(t, term, 0).More())
				require.Equal(t, n, get[int](t, c, held))
			}
		}

		// A pass of another agent ends the term.
		other := c.term(t)
		c.exec(t, `UPDATE jobs_internal.terms SET expires_at = SYSUTCDATETIME() WHERE term_id = @p1`, lost.Number)
		c.exec(t, noGap)
		drain(other, 5, 3, 1, 0)
		require.Equal(t, 7, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.task_executions WHERE outcome = N'Unknown'`))

		// The agent itself comes back.
		c.exec(t, `UPDATE jobs_internal.target_executions SET next_attempt_at = SYSUTCDATETIME() WHERE next_attempt_at IS NOT NULL`)
		require.Len(t, c.pass(t, begin()).Tasks, 7)
		again := begin()
		require.Equal(t, 5, get[int](t, c, held))
		drain(again, 3, 1, 0)
		require.Equal(t, 14, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.task_executions WHERE outcome = N'Unknown'`))
	})
}

// TestManyAttemptsAreCountedInSlices: what a pass counts of scheduled runs that have ended is
// bounded by attempts, because one target may have many. Runs that come after do not wait until all
// are counted.
func TestManyAttemptsAreCountedInSlices(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 1) // so that 4 attempts are counted at once
		term := c.term(t)
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(10) })
		c.exec(t, `EXECUTE jobs.sp_update_job N'j', @enabled = 1, @schedule_interval_type = N'Days', @schedule_start_time = '2099-01-01'`)
		retried := c.start(t, "j")
		c.resolve(t, term, "retried")
		c.start(t, "j")
		for i := range 8 {
			for _, task := range c.pass(t, term).Tasks {
				switch {
				case task.Kind == controldb.TaskResolve:
					list := []targets.Target{targets.NewTarget("s", "once", "")}
					require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: 1, Targets: list}))
				case task.Target.Database == "retried" && i < 6:
					c.complete(t, term, targets.Failed, "m", task)
				default:
					c.complete(t, term, targets.Succeeded, "m", task)
				}
			}
			c.exec(t, `UPDATE jobs_internal.target_executions SET next_attempt_at = SYSUTCDATETIME() WHERE next_attempt_at IS NOT NULL`)
		}
		for c.passMax(t, term, 0).More() {
		}
		c.exec(t, `UPDATE e SET e.schedule_id = s.schedule_id, e.due_at = e.create_time, e.unaccounted = 1
FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.schedules AS s ON s.job_id = e.job_id`)
		require.Equal(t, 2, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE is_active = 0`))

		const counted = `SELECT failures, reached, unreached, is_complete FROM jobs_internal.run_counts`
		const unaccounted = `SELECT CAST(job_execution_id AS NVARCHAR(36)) FROM jobs_internal.job_executions WHERE unaccounted = 1`
		for i, want := range []string{"3|3|0|false", "6|7|0|false"} {
			require.True(t, c.passMax(t, term, 0).More())
			require.Equal(t, []string{want}, c.rows(t, counted))
			if i == 1 {
				require.Equal(t, []string{strings.ToUpper(retried.String())}, c.rows(t, unaccounted))
			}
		}
		c.passMax(t, term, 0)
		require.Empty(t, c.rows(t, counted))
		require.Empty(t, c.rows(t, unaccounted))
		require.Equal(t, []string{"6|0"}, c.rows(t, `SELECT s.failures, s.faults FROM jobs.schedules AS s`))
	})
}

// TestManyTargetsAreCountedInSlices: the targets of a step that ends, and the attempts of a
// scheduled run that has ended, are counted over several passes if they are many. Other runs
// advance meanwhile, and the numbers are those of one count.
func TestManyTargetsAreCountedInSlices(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 1) // so that 4 targets are counted at once
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		c.job(t, "other", nil)
		c.exec(t, `EXECUTE jobs.sp_update_job N'j', @enabled = 1, @schedule_interval_type = N'Days', @schedule_start_time = '2099-01-01'`)
		term := c.term(t)
		run := c.start(t, "j")
		c.exec(t, `UPDATE e SET e.schedule_id = s.schedule_id, e.due_at = e.create_time, e.unaccounted = 1
FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.schedules AS s ON s.job_id = e.job_id`)
		databases := make([]string, 10)
		for i := range databases {
			databases[i] = fmt.Sprint("d", i)
		}
		c.resolve(t, term, databases...)
		for i, task := range c.pass(t, term).Tasks {
			outcome := targets.Succeeded
			if i%3 == 0 {
				outcome = targets.Failed
			}
			c.complete(t, term, outcome, "m", task)
		}
		other := c.start(t, "other")
		c.resolve(t, term, "d0")

		const counted = `SELECT COALESCE(MAX(targets), 0) FROM jobs_internal.step_counts`
		for _, n := range []int{4, 8} {
			require.Equal(t, n, get[int](t, c, counted))
			require.Equal(t, "WaitingForChildJobExecutions", c.lifecycle(t, run))
			c.env.CheckInvariants(t, c.name, false)
			require.True(t, c.passMax(t, term, 0).More(), n)
		}
		require.Zero(t, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.step_counts`))
		require.Equal(t, []string{"Failed|10|4|Step 1 ended with 6 of 10 targets succeeded, 4 failed."}, c.rows(t, `SELECT s.lifecycle, s.targets, s.not_succeeded, s.last_message
FROM jobs_internal.step_executions AS s INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
WHERE e.job_execution_id = @p1`, run.String()))
		require.Equal(t, "WaitingForChildJobExecutions", c.lifecycle(t, other))

		const attempts = `SELECT failures, reached, unreached, is_complete FROM jobs_internal.run_counts`
		for _, want := range []string{"1|3|0|false", "3|7|0|false"} {
			require.True(t, c.passMax(t, term, 0).More())
			require.Equal(t, []string{want}, c.rows(t, attempts))
			c.env.CheckInvariants(t, c.name, false)
		}
		c.passMax(t, term, 0)
		require.Empty(t, c.rows(t, attempts))
		require.Equal(t, []string{"4|1"}, c.rows(t, `SELECT s.failures, s.faults FROM jobs.schedules AS s WHERE s.job_name = N'j'`))
	})
}
