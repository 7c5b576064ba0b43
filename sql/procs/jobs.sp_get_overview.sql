-- The present state of all jobs on one page: agents, runs in progress, runs that wait, what is due next, and schedules that do not run.
-- It only reads. Its cost depends on what is active, not on the history.
--
-- Parameters:
--   @top  Maximum number of rows of each list, 1 to 200; values beyond that count as the nearest of these. NULL: 20.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: now, jobs (without system jobs), live_agents, workers (of all of them), busy_workers, lease_until (when the first
--               of their terms ends unless renewed), last_agent_at (until when an agent worked, if none is live; NULL: there was none),
--               active_runs, running_targets, waiting_targets, waiting_callbacks, overdue_schedules (due for a minute or more),
--               first_overdue_at, unvalidated_schedules, paused_schedules, faulted_schedules, open_backfills, advance_skipped_since (since
--               when executions have not advanced although an agent is live), job_agent_state, job_agent_reason, paused_time and
--               pause_reason (of the control database; NULL: it is not paused). Numbers of what may be very many end at 10000.
--            2: the active runs, latest first: job_execution_id, job_name, job_version, lifecycle, create_time, start_time,
--               stop_requested_at, is_rerun, due_time, steps (of the version), steps_begun, step_id and step_name (the first active step),
--               active_steps, began_at (when the list of that step was frozen), step_targets, step_active, targets, running, due, retrying,
--               callbacks, failed, next_attempt_at, retry_message (the last error of something that waits for a retry, of the target whose
--               next attempt is the last; the first 400 characters; NULL: nothing waits), held (their databases are paused, or have a
--               window that is not open), held_from and held_until (when the first and the last of the held ones may go on: pauses end,
--               windows open; NULL: none is held, or the time of none, or of one of them, is known). The numbers are targets; those
--               without a column have ended without a failure.
--            3: runs that have waited for 30 seconds or more while none of their targets runs, oldest first: job_execution_id, job_name,
--               create_time, waits_for (as in jobs.sp_explain_execution, but Hold: Pause or Window), command_type (of Agent: the type that
--               no live agent runs; NULL: no agent is live), since, until_time, targets (at most 1000 for each step of a run that 2 does
--               not list). Among the 200 oldest runs that do not wait for callbacks alone.
--            4: types of commands that no live agent runs, of steps of the same runs: command_type, runs, since.
--            5: what is due next: job_name, schedule_name, schedule_id, kind, next_due_time, next_fire_time, last_lifecycle.
--            6: schedules that do not run: job_name, schedule_name, schedule_id, state (Faulted or Paused), reason, since, changed_by.
--            7: open backfills, oldest first: job_name, schedule_name, backfill_id, from_time, to_time, next_time, started, skipped,
--               requested_by, requested_time.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs.sp_get_overview
    @top INT = 20
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    SET @top = CASE WHEN @top > 200 THEN 200 WHEN @top < 1 THEN 1 ELSE COALESCE(@top, 20) END;
    DECLARE @agents INT;
    DECLARE @workers INT;
    DECLARE @busy INT;
    DECLARE @lease_until DATETIME2(7);
    DECLARE @last_agent_at DATETIME2(7);
    DECLARE @types NVARCHAR(MAX); -- types of commands that live agents run, each between commas
    DECLARE @active_runs INT;
    DECLARE @waiting_targets INT;
    DECLARE @waiting_callbacks INT;
    DECLARE @running_targets INT;
    DECLARE @overdue INT;
    DECLARE @first_overdue_at DATETIME2(7);
    DECLARE @paused INT;
    DECLARE @faulted INT;
    DECLARE @runs TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        place        INT NOT NULL
    );
    -- The active steps of the listed runs, and of the runs that may wait.
    DECLARE @steps TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        execution_id      BIGINT NOT NULL,
        step_id           INT NOT NULL,
        lifecycle         NVARCHAR(50) NOT NULL,
        create_time       DATETIME2(7) NOT NULL,
        resolved_at       DATETIME2(7) NULL,
        targets           INT NULL, -- NULL: see step_executions
        command_type      NVARCHAR(50) NOT NULL,
        due               INT NOT NULL,
        first_due_at      DATETIME2(7) NULL,
        retrying          INT NOT NULL,
        held              INT NOT NULL,
        held_from         DATETIME2(7) NULL,
        held_until        DATETIME2(7) NULL,
        next_attempt_at   DATETIME2(7) NULL,
        callbacks         INT NOT NULL,
        retry_message     NVARCHAR(400) NULL
    );
    DECLARE @old TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @tasks TABLE (
        task_id      BIGINT NOT NULL PRIMARY KEY,
        execution_id BIGINT NOT NULL,
        kind         NVARCHAR(10) NOT NULL
    );
    DECLARE @held TABLE (
        execution_id BIGINT NOT NULL PRIMARY KEY,
        running      INT NOT NULL, -- targets
        tasks        INT NOT NULL  -- targets and resolutions
    );

    SELECT
        @agents = COUNT(*),
        @workers = COALESCE(SUM(a.max_concurrent_targets), 0),
        @lease_until = MIN(t.expires_at),
        @types = CONCAT(N',', STRING_AGG(CAST(t.command_types AS NVARCHAR(MAX)), N','), N',')
    FROM jobs_internal.terms AS t
    INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
    WHERE t.ended_at IS NULL
        AND t.expires_at > @now;
    -- An agent may hold more tasks than it has workers: those that it will run next.
    SELECT @busy = COALESCE(SUM(CASE WHEN h.tasks < h.workers THEN h.tasks ELSE h.workers END), 0)
    FROM (
        SELECT COUNT(*) AS tasks, MAX(a.max_concurrent_targets) AS workers
        FROM jobs_internal.terms AS t
        INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
        INNER JOIN jobs_internal.task_executions AS k ON k.term_id = t.term_id
        WHERE t.ended_at IS NULL
            AND t.expires_at > @now
            AND k.ended_at IS NULL
        GROUP BY t.term_id
    ) AS h;
    IF @agents = 0
        -- The latest terms are enough: an agent that is still needed starts a new one.
        SELECT @last_agent_at = MAX(CASE WHEN l.ended_at < l.expires_at THEN l.ended_at ELSE l.expires_at END)
        FROM (
            SELECT TOP (100) t.ended_at, t.expires_at
            FROM jobs_internal.terms AS t
            ORDER BY t.term_id DESC
        ) AS l;

    -- Numbers of what may be very many: the first keys of filtered indexes that contain nothing else, in their order.
    SELECT @active_runs = COUNT(*)
    FROM (
        SELECT TOP (10000) e.execution_id
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
        ORDER BY e.create_time DESC, e.job_execution_id
    ) AS l;
    SELECT @waiting_targets = COUNT(*)
    FROM (
        SELECT TOP (10000) t.target_execution_id
        FROM jobs_internal.target_executions AS t
        WHERE t.next_attempt_at IS NOT NULL
        ORDER BY t.step_execution_id, t.next_attempt_at, t.target_execution_id
    ) AS l;
    SELECT @waiting_callbacks = COUNT(*)
    FROM (
        SELECT TOP (10000) c.target_execution_id
        FROM jobs_internal.callbacks AS c
        WHERE c.deadline_at IS NOT NULL
            AND c.closed_at IS NULL
        ORDER BY c.deadline_at
    ) AS l;
    SELECT
        @overdue = COUNT(*),
        @first_overdue_at = MIN(l.next_fire_at)
    FROM (
        SELECT TOP (10000) s.next_fire_at
        FROM jobs_internal.schedules AS s
        WHERE s.next_fire_at IS NOT NULL
            AND s.next_fire_at <= DATEADD(SECOND, -60, @now)
        ORDER BY s.next_fire_at
    ) AS l;
    SELECT @paused = COUNT(*)
    FROM (
        SELECT TOP (10000) s.schedule_id
        FROM jobs_internal.schedules AS s
        WHERE s.paused = 1
        ORDER BY s.paused_at
    ) AS l;
    SELECT @faulted = COUNT(*)
    FROM (
        SELECT TOP (10000) s.schedule_id
        FROM jobs_internal.schedules AS s
        WHERE s.state = N'Faulted'
        ORDER BY s.closed_at
    ) AS l;

    -- Plan: per term that has not ended a range of IX_task_executions_held, which has as many rows as the agent has workers.
    INSERT INTO @tasks (task_id, execution_id, kind)
    SELECT k.task_id, k.execution_id, k.kind
    FROM jobs_internal.terms AS t
    INNER JOIN jobs_internal.task_executions AS k ON k.term_id = t.term_id
    WHERE t.ended_at IS NULL
        AND k.ended_at IS NULL;
    INSERT INTO @held (execution_id, running, tasks)
    SELECT k.execution_id, SUM(CASE WHEN k.kind = N'Run' THEN 1 ELSE 0 END), COUNT(*)
    FROM @tasks AS k
    GROUP BY k.execution_id;
    SELECT @running_targets = COALESCE(SUM(h.running), 0)
    FROM @held AS h;

    -- Plan: the newest keys of IX_job_executions_active_create_time, each with its row.
    INSERT INTO @runs (execution_id, place)
    SELECT TOP (@top) e.execution_id, ROW_NUMBER() OVER (ORDER BY e.create_time DESC, e.job_execution_id)
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.is_active = 1
        AND j.deleted_at IS NULL
        AND j.is_system = 0
    ORDER BY e.create_time DESC, e.job_execution_id;
    -- Plan: the first keys of IX_job_executions_hot.
    INSERT INTO @old (execution_id)
    SELECT l.execution_id
    FROM (
        SELECT TOP (200) e.execution_id
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
            AND e.parked = 0
        ORDER BY e.execution_id
    ) AS l;
    -- Plan: per run the keys of IX_step_executions_active; per step a range of IX_target_executions_due and one of
    -- IX_target_executions_waiting, which contain what waits, and nothing of the history. Runs that are not listed need no numbers but
    -- why they wait, so that their part does not grow with their targets.
    INSERT INTO @steps (
        step_execution_id, execution_id, step_id, lifecycle, create_time, resolved_at, targets, command_type, due, first_due_at, retrying,
        held, held_from, held_until, next_attempt_at, callbacks, retry_message
    )
    SELECT
        s.step_execution_id, s.execution_id, s.step_id, s.lifecycle, s.create_time, s.resolved_at, s.targets, c.command_type, d.due,
        d.first_due_at, d.retrying, d.held, u.held_from, u.held_until, COALESCE(d.next_attempt_at, s.next_attempt_at), w.callbacks,
        CASE WHEN s.lifecycle = N'WaitingForRetry' THEN LEFT(s.last_message, 400) ELSE q.message END
    FROM (
        SELECT r.execution_id, 2147483647 AS counted
        FROM @runs AS r
        UNION ALL
        SELECT o.execution_id, 1000 AS counted
        FROM @old AS o
        WHERE NOT EXISTS (SELECT 1 FROM @runs AS r WHERE r.execution_id = o.execution_id)
    ) AS x
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = x.execution_id
    INNER JOIN jobs_internal.job_steps AS v ON v.job_id = s.job_id AND v.version = s.job_version AND v.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = v.command_id
    CROSS APPLY (
        SELECT
            COALESCE(SUM(CASE WHEN t.next_attempt_at <= @now THEN 1 ELSE 0 END), 0) AS due,
            MIN(CASE WHEN t.next_attempt_at <= @now THEN t.next_attempt_at END) AS first_due_at,
            COALESCE(SUM(CASE WHEN t.next_attempt_at > @now AND t.next_attempt_at < '9999-12-31' THEN 1 ELSE 0 END), 0) AS retrying,
            COALESCE(SUM(CASE WHEN t.next_attempt_at >= '9999-12-31' THEN 1 ELSE 0 END), 0) AS held,
            MIN(CASE WHEN t.next_attempt_at > @now AND t.next_attempt_at < '9999-12-31' THEN t.next_attempt_at END) AS next_attempt_at
        FROM (
            SELECT TOP (x.counted) t.next_attempt_at
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = s.step_execution_id
                AND t.next_attempt_at IS NOT NULL
            ORDER BY t.next_attempt_at, t.target_execution_id
        ) AS t
    ) AS d
    CROSS APPLY (
        SELECT COUNT(*) AS callbacks
        FROM (
            SELECT TOP (x.counted) t.target_execution_id
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = s.step_execution_id
                AND t.lifecycle = N'WaitingForCallback'
            ORDER BY t.target_execution_id
        ) AS t
    ) AS w
    OUTER APPLY (
        SELECT
            MIN(t.ends_at) AS held_from,
            CASE WHEN COUNT(*) = COUNT(t.ends_at) THEN MAX(t.ends_at) END AS held_until
        FROM jobs_internal.step_holds AS h
        CROSS APPLY (SELECT CASE WHEN h.is_over = 1 THEN @now ELSE h.ends_at END AS ends_at) AS t
        WHERE h.step_execution_id = s.step_execution_id
    ) AS u
    OUTER APPLY (
        -- Plan: the last key of the range of IX_target_executions_due, with its row.
        SELECT TOP (1) LEFT(t.last_message, 400) AS message
        FROM jobs_internal.target_executions AS t
        WHERE t.step_execution_id = s.step_execution_id
            AND t.next_attempt_at > @now
            AND t.next_attempt_at < '9999-12-31'
        ORDER BY t.next_attempt_at DESC, t.target_execution_id DESC
    ) AS q
    WHERE s.is_active = 1
    OPTION (RECOMPILE);

    SELECT
        @now AS now,
        (
            SELECT COUNT(*)
            FROM jobs_internal.jobs AS j
            WHERE j.deleted_at IS NULL
                AND j.is_system = 0
        ) AS jobs,
        @agents AS live_agents,
        @workers AS workers,
        @busy AS busy_workers,
        @lease_until AS lease_until,
        @last_agent_at AS last_agent_at,
        @active_runs AS active_runs,
        @running_targets AS running_targets,
        @waiting_targets AS waiting_targets,
        @waiting_callbacks AS waiting_callbacks,
        @overdue AS overdue_schedules,
        @first_overdue_at AS first_overdue_at,
        (SELECT COUNT(*) FROM jobs_internal.schedules AS s WHERE s.awaits_verdict = 1) AS unvalidated_schedules,
        @paused AS paused_schedules,
        @faulted AS faulted_schedules,
        (SELECT COUNT(*) FROM jobs_internal.schedule_backfills AS f WHERE f.state = N'Open') AS open_backfills,
        (SELECT v.skipped_since FROM jobs_internal.advance_status AS v) AS advance_skipped_since,
        a.state AS job_agent_state,
        a.reason AS job_agent_reason,
        a.paused_at AS paused_time,
        a.pause_reason
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;

    -- Plan: per run the keys of UQ_step_executions_step_id, and a range of IX_target_executions_failed.
    WITH waits AS (
        SELECT
            s.execution_id,
            COUNT(*) AS active_steps,
            MIN(s.step_id) AS step_id,
            SUM(s.due) AS due,
            SUM(s.retrying) AS retrying,
            SUM(s.held) AS held,
            MIN(s.held_from) AS held_from,
            CASE
                WHEN MAX(CASE WHEN s.held > 0 AND s.held_until IS NULL THEN 1 ELSE 0 END) = 0 THEN MAX(s.held_until)
            END AS held_until,
            SUM(s.callbacks) AS callbacks,
            MIN(s.next_attempt_at) AS next_attempt_at,
            MAX(s.retry_message) AS retry_message -- of any step
        FROM @steps AS s
        GROUP BY s.execution_id
    )
    SELECT
        e.job_execution_id,
        j.name AS job_name,
        e.job_version,
        e.lifecycle,
        e.create_time,
        e.start_time,
        e.stop_requested_at,
        CAST(CASE WHEN e.rerun_of IS NULL THEN 0 ELSE 1 END AS BIT) AS is_rerun,
        e.due_at AS due_time,
        (SELECT COUNT(*) FROM jobs_internal.job_steps AS d WHERE d.job_id = e.job_id AND d.version = e.job_version) AS steps,
        (SELECT COUNT(*) FROM jobs_internal.step_executions AS s WHERE s.execution_id = e.execution_id) AS steps_begun,
        w.step_id,
        n.step_name,
        COALESCE(w.active_steps, 0) AS active_steps,
        f.resolved_at AS began_at,
        COALESCE(p.targets, 0) AS step_targets,
        COALESCE(p.active, 0) AS step_active,
        (
            -- Steps have the number of their targets. Plan: for those of earlier releases a range of UQ_target_executions_target_id.
            SELECT COALESCE(SUM(COALESCE(s.targets, c.targets)), 0)
            FROM jobs_internal.step_executions AS s
            OUTER APPLY (
                SELECT COUNT(*) AS targets
                FROM jobs_internal.target_executions AS t
                WHERE t.step_execution_id = s.step_execution_id
                    AND s.targets IS NULL
            ) AS c
            WHERE s.execution_id = e.execution_id
        ) AS targets,
        COALESCE(h.running, 0) AS running,
        COALESCE(w.due, 0) AS due,
        COALESCE(w.retrying, 0) AS retrying,
        COALESCE(w.callbacks, 0) AS callbacks,
        (
            SELECT COUNT(*)
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = e.execution_id
                AND t.lifecycle IN (N'Failed', N'TimedOut')
        ) AS failed,
        w.next_attempt_at,
        w.retry_message,
        COALESCE(w.held, 0) AS held,
        w.held_from,
        w.held_until
    FROM @runs AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    LEFT JOIN @held AS h ON h.execution_id = r.execution_id
    LEFT JOIN waits AS w ON w.execution_id = r.execution_id
    LEFT JOIN jobs_internal.job_steps AS n ON n.job_id = e.job_id AND n.version = e.job_version AND n.step_id = w.step_id
    LEFT JOIN @steps AS f ON f.execution_id = r.execution_id AND f.step_id = w.step_id
    OUTER APPLY (
        SELECT
            COALESCE(f.targets, (
                SELECT COUNT(*)
                FROM jobs_internal.target_executions AS t
                WHERE t.step_execution_id = f.step_execution_id
                    AND f.targets IS NULL
            )) AS targets,
            (
                SELECT COUNT(*)
                FROM jobs_internal.target_executions AS t
                WHERE t.job_id = e.job_id
                    AND t.step_execution_id = f.step_execution_id
                    AND t.is_active = 1
            ) AS active
    ) AS p
    ORDER BY r.place
    OPTION (RECOMPILE);

    -- The first reason that applies, in the order of jobs.sp_explain_execution.
    WITH waits AS (
        SELECT
            o.execution_id,
            MIN(CASE WHEN CHARINDEX(N',' + s.command_type + N',', @types) = 0 THEN s.command_type END) AS command_type,
            COALESCE(SUM(s.due), 0) AS due,
            MIN(s.first_due_at) AS first_due_at,
            COALESCE(SUM(s.retrying), 0) AS retrying,
            COALESCE(SUM(s.held), 0) AS held,
            COALESCE(SUM(s.callbacks), 0) AS callbacks,
            MIN(s.next_attempt_at) AS next_attempt_at,
            COUNT(s.step_execution_id) AS steps,
            MIN(s.create_time) AS step_time,
            SUM(CASE WHEN s.lifecycle IN (N'Created', N'WaitingForRetry') THEN 1 ELSE 0 END) AS unresolved
        FROM @old AS o
        LEFT JOIN @steps AS s ON s.execution_id = o.execution_id
        GROUP BY o.execution_id
    ),
    reasons AS (
        SELECT
            w.execution_id,
            CASE
                WHEN e.stop_requested_at IS NOT NULL THEN N'Stop'
                WHEN @agents = 0 OR w.command_type IS NOT NULL THEN N'Agent'
                WHEN w.steps = 0 THEN N'Advance'
                WHEN w.due > 0 AND @busy >= @workers THEN N'Worker'
                WHEN w.due > 0 THEN N'Limit'
                WHEN w.unresolved > 0 AND w.next_attempt_at > @now THEN N'Retry'
                WHEN w.unresolved > 0 THEN N'Resolution'
                WHEN w.retrying > 0 THEN N'Retry'
                WHEN w.held > 0 THEN N'Hold'
                WHEN w.callbacks > 0 THEN N'Callback'
                ELSE N'Advance'
            END AS waits_for,
            CASE WHEN @agents > 0 AND e.stop_requested_at IS NULL THEN w.command_type END AS command_type,
            w.due + w.retrying + w.held + w.callbacks AS targets,
            COALESCE(e.stop_requested_at, w.first_due_at, w.step_time, e.create_time) AS since,
            w.next_attempt_at,
            e.job_execution_id,
            j.name AS job_name,
            e.create_time
        FROM waits AS w
        INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = w.execution_id
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
        WHERE j.deleted_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM @held AS h WHERE h.execution_id = w.execution_id)
    )
    SELECT TOP (@top)
        r.job_execution_id,
        r.job_name,
        r.create_time,
        r.waits_for,
        r.command_type,
        r.since,
        CASE WHEN r.waits_for = N'Retry' THEN r.next_attempt_at END AS until_time,
        r.targets
    FROM reasons AS r
    WHERE r.since <= DATEADD(SECOND, -30, @now)
    ORDER BY r.since, r.execution_id
    OPTION (RECOMPILE);

    SELECT
        s.command_type,
        COUNT(DISTINCT s.execution_id) AS runs,
        MIN(s.create_time) AS since
    FROM @steps AS s
    WHERE @agents > 0
        AND CHARINDEX(N',' + s.command_type + N',', @types) = 0
    GROUP BY s.command_type
    ORDER BY s.command_type;

    -- Plan: the first keys of IX_schedules_next_fire_at, each with its row.
    SELECT TOP (@top)
        j.name AS job_name,
        s.name AS schedule_name,
        s.schedule_id,
        s.kind,
        s.next_due_at AS next_due_time,
        s.next_fire_at AS next_fire_time,
        COALESCE(e.lifecycle, s.last_lifecycle) AS last_lifecycle
    FROM jobs_internal.schedules AS s
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = s.last_execution_id
    WHERE s.next_fire_at IS NOT NULL
        AND j.deleted_at IS NULL
        AND j.is_system = 0
    ORDER BY s.next_fire_at, s.schedule_id;

    -- Plan: the last keys of IX_schedules_faulted and IX_schedules_paused_at, each with its row.
    SELECT p.job_name, p.schedule_name, p.schedule_id, p.state, p.reason, p.since, p.changed_by
    FROM (
        SELECT TOP (@top)
            j.name AS job_name,
            s.name AS schedule_name,
            s.schedule_id,
            CAST(N'Faulted' AS NVARCHAR(20)) AS state,
            s.reason,
            s.closed_at AS since,
            CAST(NULL AS NVARCHAR(128)) AS changed_by
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        WHERE s.state = N'Faulted'
            AND j.deleted_at IS NULL
        ORDER BY s.closed_at DESC
    ) AS p
    UNION ALL
    SELECT p.job_name, p.schedule_name, p.schedule_id, p.state, p.reason, p.since, p.changed_by
    FROM (
        SELECT TOP (@top)
            j.name AS job_name,
            s.name AS schedule_name,
            s.schedule_id,
            N'Paused' AS state,
            s.pause_note AS reason,
            s.paused_at AS since,
            s.paused_by AS changed_by
        FROM jobs_internal.schedules AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        WHERE s.paused = 1
            AND s.state <> N'Faulted'
            AND j.deleted_at IS NULL
        ORDER BY s.paused_at DESC
    ) AS p
    ORDER BY state, since DESC, schedule_id;

    SELECT TOP (@top)
        j.name AS job_name,
        s.name AS schedule_name,
        f.backfill_id,
        f.from_at AS from_time,
        f.to_at AS to_time,
        f.next_at AS next_time,
        f.started,
        f.skipped,
        f.requested_by,
        f.requested_at AS requested_time
    FROM jobs_internal.schedule_backfills AS f
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE f.state = N'Open'
        AND j.deleted_at IS NULL
    ORDER BY f.backfill_id;
    RETURN 0;
END;
