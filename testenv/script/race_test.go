package script_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// anyTerm starts a term.
const anyTerm = `
EXEC jobs_internal.start_term @agent_id = '00000000-0000-0000-0000-000000000001', @host_name = N'h', @version = N'1', @ttl_seconds = 3600;`

// concurrentCall is a call that two sessions make at the same time, once in each round.
type concurrentCall struct {
	name  string
	setup string // before each round; %d is the round
	call  string // by both sessions
	loser int32  // the error of the second call, or 0 if both succeed
	check string // a query that returns the violations
}

// jobCalls are calls of procedures that change jobs, steps and runs.
var jobCalls = []concurrentCall{
	{
		name:  "sp_add_job",
		call:  `EXEC jobs.sp_add_job N'job %d';`,
		loser: 50101,
		check: `SELECT job_name FROM jobs.jobs GROUP BY job_name HAVING COUNT(*) > 1;`,
	},
	{
		name:  "sp_update_job",
		setup: `EXEC jobs.sp_add_job N'old %d';`,
		call:  `EXEC jobs.sp_update_job N'old %[1]d', @new_name = N'new %[1]d', @enabled = 1;`,
		loser: 50100,
		check: `SELECT job_name FROM jobs.jobs WHERE job_name LIKE N'old %' OR (job_name LIKE N'new %' AND enabled = 0);`,
	},
	{
		name:  "sp_delete_job",
		setup: `EXEC jobs.sp_add_job N'd %d';`,
		call:  `EXEC jobs.sp_delete_job N'd %d', 1;`,
		loser: 50100,
		check: `SELECT name FROM jobs_internal.jobs WHERE name LIKE N'd %';`,
	},
	{
		name:  "sp_add_jobstep",
		setup: `EXEC jobs.sp_add_job N's %d';`,
		call: `DECLARE @name NVARCHAR(128) = CONVERT(NVARCHAR(36), NEWID());
EXEC jobs.sp_add_jobstep N's %d', 1, @name, @command = N'SELECT 1;', @target_group_name = N'g';`,
		check: `SELECT j.job_name FROM jobs.jobs AS j WHERE j.job_name LIKE N's %'
AND (j.job_version <> 2 OR (SELECT COUNT(*) FROM jobs.jobsteps AS s WHERE s.job_id = j.job_id AND s.step_id IN (1, 2)) <> 2);`,
	},
	{
		name: "sp_update_jobstep",
		setup: `EXEC jobs.sp_add_job N'u %[1]d';
EXEC jobs.sp_add_jobstep N'u %[1]d', NULL, N'a', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_add_jobstep N'u %[1]d', NULL, N'b', @command = N'SELECT 1;', @target_group_name = N'g';`,
		call: `EXEC jobs.sp_update_jobstep N'u %d', @step_id = 1, @new_id = 2;`,
		check: `SELECT j.job_name FROM jobs.jobs AS j WHERE j.job_name LIKE N'u %'
AND (j.job_version <> 4 OR (SELECT MIN(s.step_name) FROM jobs.jobsteps AS s WHERE s.job_id = j.job_id AND s.step_id = 1) <> N'a');`,
	},
	{
		name: "sp_delete_jobstep",
		setup: `EXEC jobs.sp_add_job N'x %[1]d';
EXEC jobs.sp_add_jobstep N'x %[1]d', NULL, N'a', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_add_jobstep N'x %[1]d', NULL, N'b', @command = N'SELECT 1;', @target_group_name = N'g';`,
		call:  `EXEC jobs.sp_delete_jobstep N'x %d', @step_name = N'a';`,
		loser: 50104,
		check: `SELECT j.job_name FROM jobs.jobs AS j WHERE j.job_name LIKE N'x %'
AND (j.job_version <> 3 OR (SELECT COUNT(*) FROM jobs.jobsteps AS s WHERE s.job_id = j.job_id) <> 1);`,
	},
	{
		name: "sp_start_job",
		setup: `EXEC jobs.sp_add_job N'r %[1]d';
EXEC jobs.sp_add_jobstep N'r %[1]d', @command = N'SELECT 1;', @target_group_name = N'g';`,
		call:  `EXEC jobs.sp_start_job N'r %[1]d', '00000000-0000-0000-0000-%012[1]d';`,
		check: `SELECT job_name FROM jobs.job_executions GROUP BY job_name HAVING COUNT(*) <> 1;`,
	},
	{
		name: "sp_stop_job",
		setup: `EXEC jobs.sp_add_job N't %[1]d';
EXEC jobs.sp_add_jobstep N't %[1]d', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_start_job N't %[1]d', '10000000-0000-0000-0000-%012[1]d';`,
		call:  `EXEC jobs.sp_stop_job '10000000-0000-0000-0000-%012d';`,
		check: `SELECT j.name FROM jobs_internal.jobs AS j INNER JOIN jobs_internal.job_executions AS e ON e.job_id = j.job_id WHERE j.name LIKE N't %' AND e.stop_requested_at IS NULL;`,
	},
	{
		name: "sp_purge_jobhistory",
		setup: `EXEC jobs.sp_add_job N'h %[1]d';
INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time)
SELECT NEWID(), job_id, 0, N'Succeeded', 0, '2026-01-01', '2026-01-01' FROM jobs.jobs WHERE job_name = N'h %[1]d';`,
		call:  `EXEC jobs.sp_purge_jobhistory N'h %d';`,
		check: `SELECT job_name FROM jobs.job_executions WHERE job_name LIKE N'h %';`,
	},
}

// targetGroupCalls are calls of procedures that change target groups.
var targetGroupCalls = []concurrentCall{
	{
		name:  "sp_add_target_group",
		call:  `EXEC jobs.sp_add_target_group N'group %d';`,
		loser: 50107,
		check: `SELECT target_group_name FROM jobs.target_groups GROUP BY target_group_name HAVING COUNT(*) > 1;`,
	},
	{
		name:  "sp_add_target_group_member",
		setup: `EXEC jobs.sp_add_target_group N'members %d';`,
		call:  `EXEC jobs.sp_add_target_group_member N'members %d', @target_type = N'SqlServer', @server_name = N's';`,
		check: `SELECT target_group_name FROM jobs.target_group_members WHERE target_group_name LIKE N'members %' GROUP BY target_group_name HAVING COUNT(*) <> 2;`,
	},
	{
		name:  "sp_delete_target_group",
		setup: `EXEC jobs.sp_add_target_group N'gone %d';`,
		call:  `EXEC jobs.sp_delete_target_group N'gone %d';`,
		loser: 50106,
		check: `SELECT target_group_name FROM jobs.target_groups WHERE target_group_name LIKE N'gone %';`,
	},
	{
		name: "sp_delete_target_group_member",
		setup: `EXEC jobs.sp_add_target_group N'one %[1]d';
EXEC jobs.sp_add_target_group_member N'one %[1]d', @target_type = N'SqlServer', @server_name = N's';`,
		call: `DECLARE @id UNIQUEIDENTIFIER = (SELECT target_id FROM jobs.target_group_members WHERE target_group_name = N'one %[1]d');
IF @id IS NOT NULL EXEC jobs.sp_delete_target_group_member N'one %[1]d', @id;`,
		loser: 50110,
		check: `SELECT target_group_name FROM jobs.target_group_members WHERE target_group_name LIKE N'one %';`,
	},
}

// scheduleCalls are calls of procedures that change schedules, backfills and calendars.
var scheduleCalls = []concurrentCall{
	{
		name:  "sp_add_schedule",
		setup: `EXEC jobs.sp_add_job N'as %d';`,
		call:  `EXEC jobs.sp_add_schedule N'as %d', N's', N'cron5', N'* * * * *';`,
		loser: 50126,
		check: `SELECT job_name FROM jobs.schedules WHERE job_name LIKE N'as %' GROUP BY job_name HAVING COUNT(*) <> 2;`,
	},
	{
		name: "sp_update_schedule",
		setup: `EXEC jobs.sp_add_job N'us %[1]d';
EXEC jobs.sp_add_schedule N'us %[1]d', N'old', N'cron5', N'* * * * *';`,
		call:  `EXEC jobs.sp_update_schedule N'us %d', N'old', N'new', @spec = N'0 * * * *';`,
		loser: 50125,
		check: `SELECT j.name FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name LIKE N'us %' AND s.name <> N'' AND (s.name <> N'new' OR s.revision <> 3);`,
	},
	{
		name: "sp_delete_schedule",
		setup: `EXEC jobs.sp_add_job N'ds %[1]d';
EXEC jobs.sp_add_schedule N'ds %[1]d', N's', N'cron5', N'* * * * *';`,
		call:  `EXEC jobs.sp_delete_schedule N'ds %d', N's';`,
		loser: 50125,
		check: `SELECT job_name FROM jobs.schedules WHERE job_name LIKE N'ds %' AND schedule_name <> N'';`,
	},
	{
		name: "sp_enable_schedule",
		setup: `EXEC jobs.sp_add_job N'es %[1]d';
EXEC jobs.sp_add_schedule N'es %[1]d', N's', N'cron5', N'* * * * *', @enabled = 0;`,
		call:  `EXEC jobs.sp_enable_schedule N'es %d', N's';`,
		check: `SELECT j.name FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name LIKE N'es %' AND s.name <> N'' AND (s.enabled = 0 OR s.revision <> 3);`,
	},
	{
		name: "sp_pause_schedule",
		setup: `EXEC jobs.sp_add_job N'ps %[1]d';
EXEC jobs.sp_add_schedule N'ps %[1]d', N's', N'cron5', N'* * * * *';`,
		call:  `EXEC jobs.sp_pause_schedule N'ps %d', N's', @note = N'n';`,
		check: `SELECT j.name FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name LIKE N'ps %' AND s.name <> N'' AND (s.paused = 0 OR s.revision <> 3);`,
	},
	{
		name: "sp_backfill_schedule",
		setup: `EXEC jobs.sp_add_job N'bs %[1]d';
EXEC jobs.sp_add_schedule N'bs %[1]d', N's', N'cron5', N'* * * * *';`,
		call:  `EXEC jobs.sp_backfill_schedule N'bs %d', N's', '2026-01-01', '2026-01-02';`,
		check: `SELECT job_name FROM jobs.schedule_backfills WHERE job_name LIKE N'bs %' GROUP BY job_name HAVING COUNT(*) <> 2;`,
	},
	{
		name: "sp_cancel_backfill",
		setup: `EXEC jobs.sp_add_job N'cb %[1]d';
EXEC jobs.sp_add_schedule N'cb %[1]d', N's', N'cron5', N'* * * * *';
EXEC jobs.sp_backfill_schedule N'cb %[1]d', N's', '2026-01-01', '2026-01-02';
INSERT INTO jobs_internal.schedule_buffer (schedule_id, due_at, job_id, backfill_id, buffered_at)
SELECT f.schedule_id, '2026-01-01', s.job_id, f.backfill_id, SYSUTCDATETIME()
FROM jobs_internal.schedule_backfills AS f INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
WHERE j.name = N'cb %[1]d';
UPDATE s SET s.buffered = 1 FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name = N'cb %[1]d' AND s.name = N's';`,
		call: `DECLARE @id BIGINT = (SELECT b.backfill_id FROM jobs.schedule_backfills AS b WHERE b.job_name = N'cb %d');
EXEC jobs.sp_cancel_backfill @id;`,
		check: `SELECT b.job_name FROM jobs.schedule_backfills AS b INNER JOIN jobs.schedules AS s ON s.job_name = b.job_name AND s.schedule_name = b.schedule_name
WHERE b.job_name LIKE N'cb %' AND (b.state <> N'Canceled' OR b.buffered <> 0 OR b.skipped <> 1 OR s.buffered <> 0 OR s.skipped_otherwise <> 1);`,
	},
	{
		name: "sp_add_job_trigger",
		setup: `EXEC jobs.sp_add_job N'at %[1]d';
EXEC jobs.sp_add_job N'before at %[1]d';`,
		call:  `EXEC jobs.sp_add_job_trigger N'at %[1]d', N't', N'["before at %[1]d"]';`,
		loser: 50133,
		check: `SELECT job_name FROM jobs.job_triggers WHERE job_name LIKE N'at %' GROUP BY job_name HAVING COUNT(*) <> 1;`,
	},
	{
		name: "sp_update_job_trigger",
		setup: `EXEC jobs.sp_add_job N'ut %[1]d';
EXEC jobs.sp_add_job N'before ut %[1]d';
EXEC jobs.sp_add_job_trigger N'ut %[1]d', N't', N'["before ut %[1]d"]';`,
		call:  `EXEC jobs.sp_update_job_trigger N'ut %d', N't', @run_when = N'Failed';`,
		check: `SELECT j.name FROM jobs_internal.job_triggers AS t INNER JOIN jobs_internal.jobs AS j ON j.job_id = t.job_id WHERE j.name LIKE N'ut %' AND t.generation <> 2;`,
	},
	{
		name: "sp_delete_job_trigger",
		setup: `EXEC jobs.sp_add_job N'dt %[1]d';
EXEC jobs.sp_add_job N'before dt %[1]d';
EXEC jobs.sp_add_job_trigger N'dt %[1]d', N't', N'["before dt %[1]d"]';`,
		call:  `EXEC jobs.sp_delete_job_trigger N'dt %d', N't';`,
		loser: 50134,
		check: `SELECT job_name FROM jobs.job_triggers WHERE job_name LIKE N'dt %';`,
	},
	{
		name:  "sp_add_calendar",
		call:  `EXEC jobs.sp_add_calendar N'calendar %d', N'{}';`,
		loser: 50130,
		check: `SELECT calendar_name FROM jobs.calendars GROUP BY calendar_name HAVING COUNT(*) > 1;`,
	},
	{
		name:  "sp_delete_calendar",
		setup: `EXEC jobs.sp_add_calendar N'gone %d', N'{}';`,
		call:  `EXEC jobs.sp_delete_calendar N'gone %d';`,
		loser: 50129,
		check: `SELECT calendar_name FROM jobs.calendars WHERE calendar_name LIKE N'gone %';`,
	},
}

// agentCalls are calls of procedures that agents call for schedules.
var agentCalls = []concurrentCall{
	{
		name: "record_verdicts",
		setup: `EXEC jobs.sp_add_job N'rv %[1]d';
EXEC jobs.sp_add_schedule N'rv %[1]d', N's', N'cron5', N'* * * * *';` + anyTerm,
		call: `DECLARE @term BIGINT = (SELECT MAX(term_id) FROM jobs_internal.terms);
DECLARE @verdicts NVARCHAR(MAX) = (SELECT CONCAT(N'[{"schedule_id":', MAX(schedule_id), N',"revision":2,"engine":"1","zone":"UTC","next_due_at":"2999-01-01T00:00:00"}]') FROM jobs_internal.schedules);
DECLARE @result TABLE (schedule_id BIGINT, job_name NVARCHAR(128), schedule_name NVARCHAR(128), result NVARCHAR(20), state NVARCHAR(20), old_due_at DATETIME2(7), next_due_at DATETIME2(7));
INSERT INTO @result EXEC jobs_internal.record_verdicts @term_id = @term, @verdicts = @verdicts;
UPDATE j SET j.description = CONCAT(j.description, (SELECT r.result FROM @result AS r)) FROM jobs_internal.jobs AS j WHERE j.name = N'rv %[1]d';`,
		check: `SELECT j.name FROM jobs_internal.jobs AS j WHERE j.name LIKE N'rv %' AND j.description NOT IN (N'RecordedStale', N'StaleRecorded', N'RecordedLocked', N'LockedRecorded');`,
	},
	{
		// An occurrence, and an agent's pass that may end an earlier run of the schedule and
		// start a buffered one.
		name: "fire_schedules",
		setup: `EXEC jobs.sp_add_job N'fs %[1]d';
EXEC jobs.sp_add_jobstep N'fs %[1]d', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_add_schedule N'fs %[1]d', N's', N'cron5', N'* * * * *', @overlap = N'BufferAll';
UPDATE s SET s.awaits_verdict = 0, s.next_due_at = '2026-01-01T00:00:00', s.next_fire_at = '2026-01-01T00:00:00', s.executions = 1
FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name = N'fs %[1]d' AND s.name = N's';
INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time, schedule_id, due_at, unaccounted, stop_requested_at)
SELECT NEWID(), s.job_id, 1, N'Canceled', 0, '2026-01-01', '2026-01-01', s.schedule_id, '2025-12-31', 1, '2026-01-01'
FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name = N'fs %[1]d' AND s.name = N's';` + anyTerm,
		call: `DECLARE @term BIGINT = (SELECT MAX(term_id) FROM jobs_internal.terms);
DECLARE @firings NVARCHAR(MAX) = (
    SELECT CONCAT(N'[{"schedule_id":', MAX(schedule_id), N',"due_at":"2026-01-01T00:00:00","runs":["2026-01-01T00:00:00","2026-01-01T00:01:00","2026-01-01T00:02:00"],"next_due_at":"2999-01-01T00:00:00"}]')
    FROM jobs.schedules WHERE job_name = N'fs %d');
EXEC jobs_internal.fire_schedules @term_id = @term, @firings = @firings;
EXEC jobs_internal.controller_pass @term_id = @term, @max_tasks = 10, @max_concurrent_targets = 10;
EXEC jobs_internal.controller_pass @term_id = @term, @max_tasks = 10, @max_concurrent_targets = 10;`,
		check: `SELECT s.job_name FROM jobs.schedules AS s WHERE s.job_name LIKE N'fs %' AND s.schedule_name = N's' AND (s.executions <> 2 OR s.buffered <> 2 OR s.next_due_time <> '2999-01-01'
OR (SELECT COUNT(*) FROM jobs_internal.job_executions AS e WHERE e.schedule_id = s.schedule_id AND e.is_active = 1) <> 1
OR (SELECT COUNT(*) FROM jobs_internal.job_executions AS e WHERE e.schedule_id = s.schedule_id AND e.is_active = 0 AND e.unaccounted = 1) <> 0);`,
	},
}

// tenantCalls are calls of procedures that change tenants of the SAP surface.
var tenantCalls = []concurrentCall{
	{
		name: "unsubscribe",
		setup: `EXEC jobs_rest.subscribe N't%[1]d', N'u%[1]d', N'app';
DECLARE @n INT = 1, @tenant NVARCHAR(128) = N't%[1]d', @job NVARCHAR(MAX);
WHILE @n <= 5
BEGIN
    SET @job = CONCAT(N'{"name": "j', @n, N'", "action": "https://h.example/"}');
    EXEC jobs_rest.set_job @tenant, @job;
    SET @n = @n + 1;
END;`,
		call:  `EXEC jobs_rest.unsubscribe N't%d', N'app';`,
		check: `SELECT tenant_id FROM jobs_internal.rest_jobs;`,
	},
}

// TestTwoSessionsAtOnce calls each procedure from two sessions at the same time, repeatedly. One or
// both may succeed, but no effect occurs twice or in part, and the session that fails gets the
// documented error.
func TestTwoSessionsAtOnce(t *testing.T) {
	const rounds = 10
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		db := env.DB(t, database)
		exec := func(ctx context.Context, text string) error {
			_, err := db.ExecContext(ctx, text)
			return err
		}
		require.NoError(t, exec(t.Context(), "EXEC jobs.sp_add_target_group N'g';"))
		for _, c := range slices.Concat(jobCalls, targetGroupCalls, scheduleCalls, agentCalls, tenantCalls) {
			t.Run(c.name, func(t *testing.T) {
				for round := range rounds {
					if c.setup != "" {
						require.NoError(t, exec(t.Context(), fmt.Sprintf(c.setup, round)))
					}
					var errs [2]error
					var wg sync.WaitGroup
					for i := range errs {
						wg.Go(func() { errs[i] = exec(t.Context(), fmt.Sprintf(c.call, round)) })
					}
					wg.Wait()
					failed := 0
					for _, err := range errs {
						if err == nil {
							continue
						}
						failed++
						var e mssqldb.Error
						require.True(t, errors.As(err, &e), "%v", err)
						require.Equal(t, c.loser, e.Number, "%v", err)
					}
					require.LessOrEqual(t, failed, 1)
				}
				rows, err := db.QueryContext(t.Context(), c.check)
				require.NoError(t, err)
				defer rows.Close()
				for rows.Next() {
					var wrong string
					require.NoError(t, rows.Scan(&wrong))
					t.Errorf("wrong: %s", wrong)
				}
				require.NoError(t, rows.Err())
			})
		}
		env.CheckInvariants(t, database, false)
	})
}
