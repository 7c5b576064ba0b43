package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// TestRunsThatEndTogetherAreAccountedAtOnce: more scheduled runs than a pass accounts for do not
// wait for the next poll of an agent.
func TestRunsThatEndTogetherAreAccountedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		c.exec(t, `INSERT INTO jobs_internal.job_executions (
    job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time, schedule_id, due_at, unaccounted
)
SELECT NEWID(), s.job_id, 1, N'Failed', 0, '2026-01-01', '2026-01-02', s.schedule_id, DATEADD(MINUTE, ROW_NUMBER() OVER (ORDER BY a.object_id), '2026-01-01'), 1
FROM jobs_internal.schedules AS s
CROSS JOIN (SELECT TOP (150) o.object_id FROM sys.all_objects AS o ORDER BY o.object_id) AS a;`)
		left := func() int {
			return get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE unaccounted = 1`)
		}
		require.Equal(t, 150, left())
		require.True(t, c.passMax(t, term, 0).More())
		require.Equal(t, 50, left())
		require.False(t, c.passMax(t, term, 0).More())
		require.Zero(t, left())
		require.Equal(t, 150, get[int](t, c, `SELECT faults FROM jobs_internal.schedules`))
	})
}

// TestAccountingLocksTheJobsOfItsRuns: the transaction that accounts for a hundred of the scheduled
// runs that have ended leaves the jobs of the others alone, so that nobody waits for it there.
func TestAccountingLocksTheJobsOfItsRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.env.Requires(t, testenv.RowLocks)
		c.exec(t, `DECLARE @n INT = 0, @job NVARCHAR(128);
WHILE @n < 130
BEGIN
    SET @n = @n + 1;
    SET @job = CONCAT(N'j', @n);
    EXECUTE jobs.sp_add_job @job;
END;
INSERT INTO jobs_internal.job_executions (
    job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time, schedule_id, due_at, unaccounted
)
SELECT NEWID(), s.job_id, 0, N'Failed', 0, '2026-01-01', '2026-01-02', s.schedule_id, '2026-01-01', 1
FROM jobs_internal.schedules AS s;`)
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `EXECUTE jobs_internal.end_scheduled_runs`)
		require.NoError(t, err)
		require.Equal(t, 30, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.jobs AS j WITH (UPDLOCK, READPAST, ROWLOCK) WHERE j.current_version = 0`))
		require.NoError(t, tx.Commit())
		require.Equal(t, 30, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE unaccounted = 1`))
	})
}

// TestRunsThatWaitedStartInSlices: many schedules whose earlier runs have ended start the runs that
// waited over several passes, which follow each other at once. Those of a job that an open
// transaction has changed take no place of others.
func TestRunsThatWaitedStartInSlices(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		testenv.SetSlices(t, c.db, 2)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.job(t, name, nil)
		}
		c.exec(t, `INSERT INTO jobs_internal.schedule_buffer (schedule_id, due_at, job_id, buffered_at)
SELECT s.schedule_id, '2026-01-01', s.job_id, '2026-01-01' FROM jobs_internal.schedules AS s;
UPDATE jobs_internal.schedules SET buffered = 1;`)
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.jobs SET description = N'open' WHERE name IN (N'a', N'b')`)
		require.NoError(t, err)
		const start = `BEGIN TRANSACTION; DECLARE @more BIT; EXECUTE jobs_internal.start_buffered_runs @more = @more OUTPUT; COMMIT TRANSACTION; SELECT @more;`
		const started = `SELECT j.name FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id ORDER BY j.name`
		for _, want := range []struct {
			more bool
			runs []string
		}{
			{true, []string{"c", "d"}},
			{false, []string{"c", "d", "e"}},
			{false, []string{"c", "d", "e"}},
		} {
			require.Equal(t, want.more, get[bool](t, c, start))
			require.Equal(t, want.runs, c.rows(t, started))
		}
		require.NoError(t, tx.Rollback())
		term := c.term(t)
		require.True(t, c.passMax(t, term, 0).More())
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, c.rows(t, started))
		require.Empty(t, c.rows(t, `SELECT schedule_id FROM jobs_internal.schedule_buffer`))
	})
}

// TestTargetsAreBusyWithOneStepOfTheirJob: a target is skipped only if another run of the same job
// is at the same step there. Trials, and runs that wait for their list, do not count. The oldest
// active runs of the job are looked up in another way than the others, so there are none or twenty
// older ones.
func TestTargetsAreBusyWithOneStepOfTheirJob(t *testing.T) {
	for _, older := range []int{0, 20} {
		t.Run(fmt.Sprint(older), func(t *testing.T) { testBusyTargets(t, older) })
	}
}

// testBusyTargets checks which targets of a run are skipped. The given number of runs are active
// since before all others.
func testBusyTargets(t *testing.T, older int) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil, nil)
		c.exec(t, `INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, parked)
SELECT TOP (@p1) NEWID(), j.job_id, 1, N'WaitingForChildJobExecutions', 1, '2026-01-01', 1
FROM jobs_internal.jobs AS j
CROSS JOIN sys.all_objects AS o
WHERE j.name = N'j'`, older)
		c.job(t, "k", nil)
		term := c.term(t)

		ahead := c.start(t, "j")
		c.resolve(t, term, "ahead")
		c.complete(t, term, targets.Succeeded, "", c.pass(t, term).Tasks...)
		c.resolve(t, term, "ahead")
		require.Len(t, c.pass(t, term).Tasks, 1)
		c.start(t, "k")
		c.resolve(t, term, "other")
		require.Len(t, c.pass(t, term).Tasks, 1)
		trial := c.start(t, "j")
		c.resolve(t, term, "trial")
		require.Len(t, c.pass(t, term).Tasks, 1)
		c.exec(t, `UPDATE jobs_internal.job_executions SET mode = N'Trial' WHERE job_execution_id = @p1`, trial.String())
		c.start(t, "j")
		c.resolve(t, term, "busy", "done")
		for _, task := range c.pass(t, term).Tasks {
			if task.Target.Database == "done" {
				c.complete(t, term, targets.Succeeded, "", task)
			}
		}

		last := c.start(t, "j")
		c.resolve(t, term, "ahead", "other", "trial", "busy", "done", "free")
		require.Equal(
			t,
			"root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/ahead=Created 1/busy=Skipped 1/done=Created 1/free=Created 1/other=Created 1/trial=Created",
			c.lifecycles(t, last),
		)
		require.Equal(t, "root=WaitingForChildJobExecutions 1=Succeeded 1/ahead=Succeeded 2=WaitingForChildJobExecutions 2/ahead=InProgress", c.lifecycles(t, ahead))
		c.exec(t, `DELETE FROM jobs_internal.job_executions WHERE parked = 1`)
	})
}

// TestListsOfALockedJobTakeNoPlace: lists of a job that an open transaction has changed do not
// hold up the list of another job, however many they are (I14).
func TestListsOfALockedJobTakeNoPlace(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "locked", nil)
		c.job(t, "other", nil)
		term := c.term(t)
		c.start(t, "other")
		require.Len(t, c.passMax(t, term, 1).Tasks, 1)
		// The list of the other job is the last one in the order, and comes in a part, so that a
		// pass writes it.
		c.exec(t, `DECLARE @parts TABLE (task_id BIGINT NOT NULL, step_execution_id BIGINT NOT NULL, job_id UNIQUEIDENTIFIER NOT NULL);
INSERT INTO @parts (task_id, step_execution_id, job_id)
SELECT k.task_id, s.step_execution_id, s.job_id
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id;
INSERT INTO jobs_internal.list_parts (task_id, part, targets)
SELECT p.task_id, 1, N'[{"ordinal":1,"server_name":"s","database_name":"d"}]' FROM @parts AS p;
INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source, task_id)
SELECT p.step_execution_id, p.job_id, N'Parts', p.task_id FROM @parts AS p;
UPDATE k SET k.ended_at = SYSUTCDATETIME(), k.outcome = N'Succeeded' FROM jobs_internal.task_executions AS k INNER JOIN @parts AS p ON p.task_id = k.task_id;
INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source, task_id)
SELECT TOP (200) -ROW_NUMBER() OVER (ORDER BY o.object_id), j.job_id, N'Parts', 0
FROM sys.all_objects AS o
CROSS JOIN jobs_internal.jobs AS j
WHERE j.name = N'locked'
ORDER BY o.object_id;`)
		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.jobs SET description = N'open' WHERE name = N'locked'`)
		require.NoError(t, err)
		c.exec(t, `BEGIN TRANSACTION; EXECUTE jobs_internal.write_lists; COMMIT TRANSACTION;`)
		require.NoError(t, tx.Rollback())
		require.Equal(t, []string{"d|Created"}, c.rows(t, `SELECT database_name, lifecycle FROM jobs_internal.target_executions`))
		c.exec(t, `DELETE FROM jobs_internal.step_lists`)
	})
}

// TestNoTriggeredRunDuringAPurge: while a purge of a run is not committed, no run starts on the
// databases on which it succeeded. Afterwards the event is skipped, with the reason.
func TestNoTriggeredRunDuringAPurge(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "load", nil)
		c.job(t, "report", nil)
		c.exec(t, `EXEC jobs.sp_add_job_trigger N'report', N'after', N'["load"]', N'Finished', @targets = N'Succeeded';`)
		term := c.term(t)
		c.start(t, "load")
		c.resolve(t, term, "a")
		c.complete(t, term, targets.Succeeded, "", c.pass(t, term).Tasks...)
		c.exec(t, `UPDATE jobs_internal.job_triggers SET enabled = 1`)
		// The pass that ends the run stores the event; the next one would start the job.
		require.True(t, c.passMax(t, term, 0).More())
		const events = `SELECT is_waiting, COALESCE(reason, N'') FROM jobs_internal.trigger_events`
		require.Equal(t, []string{"true|"}, c.rows(t, events))

		tx, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), `UPDATE jobs_internal.job_executions SET purged_at = SYSUTCDATETIME()`)
		require.NoError(t, err)
		const start = `BEGIN TRANSACTION; EXECUTE jobs_internal.start_triggered_runs; COMMIT TRANSACTION;`
		c.exec(t, start)
		require.Equal(t, []string{"true|"}, c.rows(t, events), "it waits")
		require.NoError(t, tx.Commit())
		c.exec(t, start)
		require.Equal(
			t,
			[]string{"false|An execution of an upstream job was purged, so the databases on which it succeeded are unknown."},
			c.rows(t, events),
		)
	})
}

// TestSAPRunThatIsBeingClaimed: a change of a schedule does not make a run anew that another
// session is claiming, or its request would be sent twice (S-17).
func TestSAPRunThatIsBeingClaimed(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.env.Requires(t, testenv.RowLocks) // the change locks the row of its job
		scope := c.sapProvider(t)
		ctx := t.Context()
		made, err := sap.On(c.Store).CreateJob(ctx, scope, by, sapSpec("j", cron(`{"n":1}`)))
		require.NoError(t, err)
		term := c.actionTerm(t)
		c.validateAll(t, term, time.Now().UTC().Add(-time.Second).Truncate(time.Second))
		due, err := c.DueSchedules(ctx, 10)
		require.NoError(t, err)
		s := due.Schedules[0]
		_, err = c.FireSchedules(ctx, term, []controldb.Firing{
			{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}, NextDueAt: time.Now().UTC().Add(time.Hour)},
		})
		require.NoError(t, err)
		task := c.pass(t, term).Tasks[0]
		require.NoError(t, c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{
			Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("h.example", "", "")},
		}))

		change := func(n int) int {
			data := fmt.Sprintf(`{"n":%d}`, n)
			_, err = sap.On(c.Store).UpdateSchedule(ctx, scope, by, made.Job, made.Schedules[0], sap.ScheduleChange{Data: &data})
			require.NoError(t, err)
			return get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE stop_requested_at IS NOT NULL`)
		}
		tx, err := c.db.BeginTx(ctx, nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, `UPDATE jobs_internal.target_executions SET attempts = attempts + 1, next_attempt_at = NULL`)
		require.NoError(t, err)
		require.Zero(t, change(2), "a claim holds the target")
		require.NoError(t, tx.Rollback())
		require.Equal(t, 1, change(3))
	})
}

// TestDeletedJobsAreDeletedInSlices: what a deleted job has left in large numbers, such as skipped
// instants and versions, is deleted a batch at a time, and not by a cascade.
func TestDeletedJobsAreDeletedInSlices(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		for i := range 4 {
			c.exec(t, fmt.Sprintf(`EXEC jobs.sp_update_jobstep N'j', @command = N'SELECT %d;'`, i+2))
		}
		c.exec(t, `INSERT INTO jobs_internal.schedule_skips (schedule_id, job_id, due_at, reason, recorded_at)
SELECT s.schedule_id, s.job_id, d.due_at, N'r', '2026-01-01'
FROM jobs_internal.schedules AS s
CROSS JOIN (VALUES ('2026-01-01'), ('2026-01-02'), ('2026-01-03'), ('2026-01-04'), ('2026-01-05')) AS d (due_at);
UPDATE jobs_internal.jobs SET deleted_at = SYSUTCDATETIME();`)
		const left = `SELECT
    (SELECT COUNT(*) FROM jobs_internal.schedule_skips),
    (SELECT COUNT(*) FROM jobs_internal.job_steps),
    (SELECT COUNT(*) FROM jobs_internal.step_commands),
    (SELECT COUNT(*) FROM jobs_internal.job_versions),
    (SELECT COUNT(*) FROM jobs_internal.jobs)`
		var states []string
		for range 20 {
			state := c.rows(t, left)[0]
			states = append(states, state)
			if state == "0|0|0|0|0" {
				break
			}
			c.exec(t, `EXECUTE jobs_internal.delete_leftovers @max_rows = 1, @batch_size = 2;`)
		}
		require.Equal(t, []string{
			"5|5|5|6|1", "3|5|5|6|1", "1|5|5|6|1", "0|5|5|6|1",
			"0|3|5|6|1", "0|1|5|6|1", "0|0|5|6|1",
			"0|0|3|6|1", "0|0|1|6|1", "0|0|0|6|1",
			"0|0|0|4|1", "0|0|0|2|1", "0|0|0|0|1", "0|0|0|0|0",
		}, states)
	})
}
