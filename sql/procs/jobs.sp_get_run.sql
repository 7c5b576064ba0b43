-- The state of one run, for those who watch it: the run, its steps, and where its unfinished targets are. It only reads. A reader that
-- calls it again and again compares the third result set with the last one, and asks jobs.sp_get_run_targets for the targets whose mark
-- has changed or that have none any more. So it misses no change, in whatever order transactions commit: it reads the present state and
-- no times.
--
-- Cost: the steps of the version, and the unfinished targets of the run, of which three narrow indexes are read, and one more of those
-- that are held. They come back as ranges of ids, which are few, since targets are claimed in their order. Held tasks are those of all
-- runs: there are no more of them than workers. A finished run has no marks. The numbers of targets, with @states = 1, cost a read of all
-- targets of the run.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @marks             0: without the marks. NULL: with them.
--   @states            1: with the numbers of targets by step and state. NULL: without them.
-- Called by: members of the role jobs_reader.
-- Locks:     none.
-- Returns:   1: one row: job_name, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time, schedule_name, due_time,
--               backfill_id, started_by, stop_requested_at, stop_requested_by, rerun_of (NULL: no rerun, or that run was purged),
--               rerun_only (NULL: no rerun), last_message, now, chosen_targets (the number of databases to which it is limited; NULL: it is
--               not), tolerated_failures (the number of targets that failed in steps that succeeded with them; NULL: none), live_agents
--               (the number of live agents; NULL without @states), rollout_id (the roll-out to which the run belongs: itself or that of
--               its wave; NULL: none), rollout_wave (number of the wave; NULL: it is of none), trigger_name (the trigger that started
--               it; an empty text if it was deleted; NULL: none), held (targets whose databases are paused, or have a window that is not
--               open), held_from and held_until (when the first and the last of these may go on: pauses end, windows open; NULL: none is
--               held, or the time of none, or of one of them, is known).
--            2: the steps of the version, in order: step_id, step_name, command_type, target_group_name (NULL: the endpoint of an action),
--               run_when, step_execution_id (NULL: the step has not begun), lifecycle (empty: likewise), is_active, create_time,
--               start_time, end_time, resolved_at (when the list of targets was frozen), next_attempt_at, last_message.
--            3: the marks of unfinished targets, by kind and first_id: kind, step_execution_id, first_id, last_id (a range of ids in
--               which all targets of the step have this mark), at (Waiting: when the next attempt may begin), task_id (Held: the
--               attempt). Kinds: Waiting, Held (an agent runs it), Callback (it waits for a report), Hold (its database is paused, or
--               has a window that is not open).
--            4: with @states = 1, a row for each step and state of targets, by these: step_id, lifecycle (also WaitingForCallback),
--               outcome_unknown, total, next_attempt_at (WaitingForRetry: when the first of the next attempts may begin), held (those whose
--               databases are paused or have a window that is not open).
-- Throws:
--   50028 the job execution id is missing.
--   50111 the job execution does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_get_run
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @marks            BIT = NULL,
    @states           BIT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @execution_id BIGINT;
    DECLARE @is_active BIT;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_version INT;

    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;

    -- Marks are of the present. So the lifecycle is read before them: a run that is final has none.
    SELECT
        @execution_id = e.execution_id,
        @is_active = e.is_active,
        @job_id = e.job_id,
        @job_version = e.job_version
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @message, 1;
    END;

    SELECT
        j.name AS job_name,
        e.job_id,
        e.job_version,
        e.lifecycle,
        e.is_active,
        e.create_time,
        e.start_time,
        e.end_time,
        s.name AS schedule_name,
        e.due_at AS due_time,
        e.backfill_id,
        e.started_by,
        e.stop_requested_at,
        e.stop_requested_by,
        o.job_execution_id AS rerun_of,
        e.rerun_only,
        e.last_message,
        @now AS now,
        CASE WHEN e.only_targets IS NOT NULL THEN (SELECT COUNT(*) FROM OPENJSON(e.only_targets) AS c) END AS chosen_targets,
        (SELECT SUM(x.tolerated) FROM jobs_internal.step_executions AS x WHERE x.execution_id = e.execution_id) AS tolerated_failures,
        CASE WHEN @states = 1 THEN (SELECT COUNT(*) FROM jobs_internal.agent_status AS a WHERE a.is_live = 1) END AS live_agents,
        CASE WHEN u.execution_id IS NULL THEN w.job_execution_id ELSE e.job_execution_id END AS rollout_id,
        e.rollout_wave,
        (
            SELECT MIN(COALESCE(t.name, N''))
            FROM jobs_internal.trigger_events AS v
            LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = v.trigger_id
            WHERE v.execution_id = e.execution_id
                AND v.execution_id IS NOT NULL
        ) AS trigger_name,
        COALESCE(y.held, 0) AS held,
        y.held_from,
        y.held_until
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = e.schedule_id
    LEFT JOIN jobs_internal.visible_runs AS o ON o.execution_id = e.rerun_of
    LEFT JOIN jobs_internal.rollouts AS u ON u.execution_id = e.execution_id
    LEFT JOIN jobs_internal.visible_runs AS w ON w.execution_id = e.rollout_of
    OUTER APPLY (
        -- Plan: per active step a range of IX_target_executions_holds, and for each reason a key of target_pauses or window_answers.
        SELECT
            SUM(h.targets) AS held,
            MIN(t.ends_at) AS held_from,
            CASE WHEN COUNT(*) = COUNT(t.ends_at) THEN MAX(t.ends_at) END AS held_until
        FROM jobs_internal.step_executions AS x
        INNER JOIN jobs_internal.step_holds AS h ON h.step_execution_id = x.step_execution_id
        CROSS APPLY (SELECT CASE WHEN h.is_over = 1 THEN @now ELSE h.ends_at END AS ends_at) AS t
        WHERE x.execution_id = @execution_id
            AND x.is_active = 1
    ) AS y
    WHERE e.execution_id = @execution_id;

    SELECT
        d.step_id,
        d.step_name,
        c.command_type,
        CASE
            WHEN d.target_group_id <> '00000000-0000-0000-0000-000000000000' OR d.target_group_name <> N'(endpoint)'
                THEN d.target_group_name
        END AS target_group_name,
        d.run_when,
        s.step_execution_id,
        COALESCE(s.lifecycle, N'') AS lifecycle,
        COALESCE(s.is_active, 0) AS is_active,
        s.create_time,
        s.start_time,
        s.end_time,
        s.resolved_at,
        s.next_attempt_at,
        s.last_message
    FROM jobs_internal.job_steps AS d
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    LEFT JOIN jobs_internal.step_executions AS s ON s.execution_id = @execution_id
        AND s.step_id = d.step_id
    WHERE d.job_id = @job_id
        AND d.version = @job_version
    ORDER BY d.step_id;

    IF @marks = 0
        SET @is_active = 0;

    -- One statement: with READ_COMMITTED_SNAPSHOT, all marks are of the same instant. A task is of a step that was active when it was
    -- claimed. Plan: IX_step_executions_active with IX_target_executions_due and IX_target_executions_waiting, each a seek per step that
    -- reads no row; IX_task_executions_held by the step, because by the run SQL Server may prefer IX_task_executions_execution_id, with a
    -- lookup for each attempt that the run has had.
    WITH active_steps AS (
        SELECT s.step_execution_id
        FROM jobs_internal.step_executions AS s
        WHERE s.execution_id = @execution_id
            AND s.is_active = 1
            AND @is_active = 1
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = s.step_execution_id)
    ),
    due AS (
        SELECT
            t.step_execution_id,
            t.next_attempt_at,
            t.target_execution_id,
            t.target_execution_id - ROW_NUMBER() OVER (
                PARTITION BY t.step_execution_id, t.next_attempt_at
                ORDER BY t.target_execution_id
            ) AS island
        FROM active_steps AS s
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
        WHERE t.next_attempt_at IS NOT NULL
    ),
    reported AS (
        SELECT
            t.step_execution_id,
            t.target_execution_id,
            t.target_execution_id - ROW_NUMBER() OVER (
                PARTITION BY t.step_execution_id
                ORDER BY t.target_execution_id
            ) AS island
        FROM active_steps AS s
        INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
        WHERE t.lifecycle = N'WaitingForCallback'
    )
    SELECT
        CAST(CASE WHEN d.next_attempt_at < '9999-12-31' THEN N'Waiting' ELSE N'Hold' END AS NVARCHAR(10)) AS kind,
        d.step_execution_id,
        MIN(d.target_execution_id) AS first_id,
        MAX(d.target_execution_id) AS last_id,
        CASE WHEN d.next_attempt_at < '9999-12-31' THEN d.next_attempt_at END AS at,
        CAST(NULL AS BIGINT) AS task_id
    FROM due AS d
    GROUP BY d.step_execution_id, d.next_attempt_at, d.island
    UNION ALL
    SELECT
        CAST(N'Callback' AS NVARCHAR(10)) AS kind,
        r.step_execution_id,
        MIN(r.target_execution_id) AS first_id,
        MAX(r.target_execution_id) AS last_id,
        CAST(NULL AS DATETIME2(7)) AS at,
        CAST(NULL AS BIGINT) AS task_id
    FROM reported AS r
    GROUP BY r.step_execution_id, r.island
    UNION ALL
    SELECT
        CAST(N'Held' AS NVARCHAR(10)) AS kind,
        k.step_execution_id,
        k.target_execution_id AS first_id,
        k.target_execution_id AS last_id,
        CAST(NULL AS DATETIME2(7)) AS at,
        k.task_id
    FROM active_steps AS s
    INNER JOIN jobs_internal.task_executions AS k ON k.step_execution_id = s.step_execution_id
    WHERE k.ended_at IS NULL
        AND k.kind = N'Run'
    ORDER BY kind, first_id;

    -- Plan: the targets of the run once by IX_target_executions_execution_id.
    IF @states = 1
        SELECT
            t.step_id,
            t.lifecycle,
            t.outcome_unknown,
            COUNT(*) AS total,
            MIN(CASE
                WHEN t.lifecycle = N'WaitingForRetry' AND t.next_attempt_at < '9999-12-31' THEN t.next_attempt_at
            END) AS next_attempt_at,
            SUM(CASE WHEN t.next_attempt_at >= '9999-12-31' THEN 1 ELSE 0 END) AS held
        FROM jobs_internal.target_executions AS t
        WHERE t.execution_id = @execution_id
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = t.step_execution_id)
        GROUP BY t.step_id, t.lifecycle, t.outcome_unknown
        ORDER BY t.step_id, t.lifecycle, t.outcome_unknown;
    RETURN 0;
END;
