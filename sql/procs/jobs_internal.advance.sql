-- Advances every execution that can advance. It accounts for scheduled runs that ended, starts the runs that waited for them and those of
-- triggers, starts the steps of reruns and of failed targets, writes lists of targets, ends expired terms and hands over their tasks,
-- carries out stop requests, ends targets past their time limit, ends steps whose targets are all final, and starts next steps
-- (start_dependent_steps does so if the version has dependencies) or ends runs.
--
-- The lifecycle of a parent is the first of these that one of its children has: Canceled, Failed, TimedOut, Skipped or
-- SucceededWithSkipped (the parent is SucceededWithSkipped), Succeeded (I6). Failures that a step tolerates do not count.
-- A run that was stopped before all its steps had ended is Canceled.
--
-- Cost: (active runs and steps that are not parked), by filtered indexes that contain only those, plus the targets of steps that
-- end, once and in slices. It does not depend on history or on waiting targets. It changes at most @slice targets, steps and runs each, so
-- that no stop of a large run, no time limit and no end of many runs makes a transaction longer (I15). The next pass continues.
--
-- Parameters:
--   @term_id    The caller's term. It does not end, because its agent is at work.
--   @may_end    1: terms that have expired end. Only jobs_internal.begin_pass may say so.
--   @turned_at  What the clock showed before it jumped back; NULL: it did not. See jobs_internal.turn_back.
--   @slice      Maximum number of rows of each table that one stage changes, at least 1.
--   @more       Output. 1: a stage was cut off, so the next pass should follow at once. 0 if all that is left is held by other sessions.
--   @now        The time of the pass.
-- Called by: jobs_internal.controller_pass, jobs_internal.advance_job_agent, within a transaction that holds the application lock
--            jobagent.advance.
-- Locks:     jobs (U, X) and schedules (U, X) whose runs ended or have waiting instants, jobs that have reruns (U), terms (X), tasks (X),
--            targets (X), steps (X), runs (U, X), in this order,
--            skipping locked jobs, schedules and runs, because no pass waits for a user's open transaction (I14); inserts into
--            alert_runs and trigger_events.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.advance
    @term_id   BIGINT = 0,
    @may_end   BIT = 0,
    @turned_at DATETIME2(7) = NULL,
    @slice     INT = 5000,
    @more      BIT = 0 OUTPUT,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @room INT = @slice; -- targets that this pass may still cancel or time out
    DECLARE @count INT;
    DECLARE @cut BIT; -- a procedure below was cut off
    DECLARE @dependent NVARCHAR(MAX); -- runs whose versions have dependencies
    DECLARE @locked_runs INT;
    DECLARE @waiting TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @stopped TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY, has_list BIT NOT NULL);
    DECLARE @expired TABLE (term_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @idle TABLE (execution_id BIGINT NOT NULL PRIMARY KEY); -- runs to move on
    DECLARE @locked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);
    DECLARE @parked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @unparked TABLE (execution_id BIGINT NOT NULL PRIMARY KEY, allow_overlap BIT NOT NULL);
    DECLARE @movable TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        job_version      INT NOT NULL,
        has_dependencies BIT NOT NULL,
        stopping         BIT NOT NULL,
        steps            INT NOT NULL, -- that are final
        canceled         INT NOT NULL,
        failed           INT NOT NULL,
        timed_out        INT NOT NULL,
        skipped          INT NOT NULL,
        has_next         BIT NOT NULL, -- a step has no row yet
        rerun            BIT NOT NULL,
        rollout          BIT NOT NULL  -- the run of a roll-out, which ends with it
    );

    -- Runs that ended in an earlier pass: jobs and schedules come first in the order of locks.
    EXECUTE jobs_internal.end_scheduled_runs @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    EXECUTE jobs_internal.start_buffered_runs @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    EXECUTE jobs_internal.start_triggered_runs @slice = @slice, @now = @now;
    EXECUTE jobs_internal.start_rerun_steps @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    -- Plan: IX_step_executions_waits_for_list, which is empty unless versions have dependencies.
    IF EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.waits_for_list = 1 AND s.is_active = 1)
    BEGIN
        EXECUTE jobs_internal.freeze_failed_targets @slice = @slice, @more = @cut OUTPUT, @now = @now;
        SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    END;
    IF EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l) OR EXISTS (SELECT 1 FROM jobs_internal.list_parts AS p)
    BEGIN
        EXECUTE jobs_internal.write_lists @slice = @slice, @more = @cut OUTPUT, @now = @now;
        SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    END;

    -- The list is read first, and the terms are then locked by their clustered key, as jobs_internal.renew_term locks them. Found by
    -- IX_terms_expires_at, they would be locked in the opposite order. A term that was renewed meanwhile goes on.
    IF @turned_at IS NOT NULL
    BEGIN
        EXECUTE jobs_internal.turn_back @turned_at = @turned_at, @slice = @slice, @more = @cut OUTPUT, @now = @now;
        SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    END;
    IF @may_end = 1
        INSERT INTO @expired (term_id)
        SELECT t.term_id
        FROM jobs_internal.terms AS t
        WHERE t.ended_at IS NULL
            AND t.expires_at <= @now
            AND t.term_id <> @term_id;
    IF EXISTS (SELECT 1 FROM @expired AS x)
        UPDATE t
        SET t.ended_at = @now,
            t.end_reason = N'Expired'
        FROM @expired AS x
        INNER LOOP JOIN jobs_internal.terms AS t ON t.term_id = x.term_id
        WHERE t.ended_at IS NULL
            AND t.expires_at <= @now;
    -- In each pass, because a slice may have left tasks of a term that ended earlier.
    EXECUTE jobs_internal.hand_over @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;

    -- Plan: two empty tables, unless databases are paused or have windows.
    IF EXISTS (SELECT 1 FROM jobs_internal.target_pauses AS p) OR EXISTS (SELECT 1 FROM jobs_internal.window_answers AS a)
    BEGIN
        EXECUTE jobs_internal.release_targets @slice = @slice, @more = @cut OUTPUT, @now = @now;
        SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    END;

    EXECUTE jobs_internal.end_callbacks @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;

    -- Runs are not parked any more if one of their steps is not. A run that another transaction holds stays parked, and so its steps
    -- do not end, until a later pass gets the lock. Plan: IX_step_executions_hot, and the key of each step's run.
    INSERT INTO @parked (execution_id)
    SELECT DISTINCT TOP (@slice) s.execution_id
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    WHERE s.is_active = 1
        AND s.parked = 0
        AND e.parked = 1
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND s.execution_id BETWEEN z.first_id AND z.last_id
        );
    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @unparked (execution_id, allow_overlap)
        SELECT e.execution_id, e.allow_overlap
        FROM @parked AS p
        INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = p.execution_id;
        UPDATE e
        SET e.parked = 0
        FROM @unparked AS u
        INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = u.execution_id;
    END;

    -- Stop requests: targets that no agent holds are canceled here; agents get signals for the others. Claims leave out runs with a stop
    -- request, so the targets that are left for the next pass stay as they are. Plan: IX_job_executions_stopping, per run one key of
    -- IX_step_executions_active, per step the start of IX_target_executions_due, until there are @room keys; nothing is sorted.
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_executions AS e
        WHERE e.is_active = 1
            AND e.stop_requested_at IS NOT NULL
    )
    BEGIN
        INSERT INTO @waiting (target_execution_id)
        SELECT TOP (@room) w.target_execution_id
        FROM jobs_internal.job_executions AS e
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
        CROSS APPLY (
            SELECT TOP (@room) t.target_execution_id
            FROM jobs_internal.target_executions AS t
            WHERE t.step_execution_id = s.step_execution_id
                AND t.next_attempt_at IS NOT NULL
            ORDER BY t.next_attempt_at, t.target_execution_id
        ) AS w
        WHERE e.is_active = 1
            AND e.stop_requested_at IS NOT NULL
            AND s.is_active = 1
            AND s.lifecycle = N'WaitingForChildJobExecutions'
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND e.execution_id BETWEEN z.first_id AND z.last_id
            );
        SET @count = @@ROWCOUNT;
        SET @more = CASE WHEN @count = @room THEN 1 ELSE @more END;
        SET @room = @room - @count;
        UPDATE t
        SET t.lifecycle = N'Canceled',
            t.is_active = 0,
            t.end_time = @now,
            t.next_attempt_at = NULL,
            t.last_message = CONCAT(
                N'Step ', t.step_id, N' was canceled on ',
                CASE
                    WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', t.server_name, N'''')
                    ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
                END,
                N' by a stop request.',
                CASE
                    WHEN t.outcome_unknown = 0 THEN NULL
                    WHEN t.is_endpoint = 1 THEN N' Whether the endpoint did its work before is unknown.'
                    ELSE N' Whether the script ran before is unknown.'
                END,
                N' Before: ' + CASE WHEN t.attempts > 0 THEN t.last_message END
            )
        FROM @waiting AS w
        INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
        WHERE t.next_attempt_at IS NOT NULL;

        -- A list that passes have begun to write is completed, and then its targets are canceled.
        INSERT INTO @stopped (step_execution_id, has_list)
        SELECT TOP (@slice) s.step_execution_id, CASE WHEN l.step_execution_id IS NULL THEN 0 ELSE 1 END
        FROM jobs_internal.job_executions AS e
        INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
        LEFT JOIN jobs_internal.step_lists AS l ON l.step_execution_id = s.step_execution_id AND l.written = 0
        WHERE e.is_active = 1
            AND e.stop_requested_at IS NOT NULL
            AND s.is_active = 1
            AND (s.lifecycle IN (N'Created', N'WaitingForRetry') OR l.step_execution_id IS NOT NULL)
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND e.execution_id BETWEEN z.first_id AND z.last_id
            );
        SET @more = CASE WHEN @@ROWCOUNT = @slice THEN 1 ELSE @more END;
        DELETE l
        FROM @stopped AS w
        INNER LOOP JOIN jobs_internal.step_lists AS l ON l.step_execution_id = w.step_execution_id
        WHERE w.has_list = 1;
        UPDATE s
        SET s.lifecycle = N'Canceled',
            s.is_active = 0,
            s.end_time = @now,
            s.next_attempt_at = NULL,
            s.last_message = CONCAT(N'Step ', s.step_id, N' was canceled by a stop request before its targets were known.')
        FROM @stopped AS w
        INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
        WHERE s.lifecycle IN (N'Created', N'WaitingForRetry') -- a resolution may have been claimed meanwhile
            OR w.has_list = 1;
    END;

    -- Time limits pass while a target waits for its next attempt, too (decision 8), or is held. Claims leave out targets past their time
    -- limit. One that was held for so long before its first attempt is Skipped. Plan: the start of IX_target_executions_deadline_at.
    IF @room > 0
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.next_attempt_at IS NOT NULL
                AND t.deadline_at IS NOT NULL
                AND t.deadline_at <= @now
        )
    BEGIN
        DELETE FROM @waiting;
        INSERT INTO @waiting (target_execution_id)
        SELECT TOP (@room) t.target_execution_id
        FROM jobs_internal.target_executions AS t
        WHERE t.next_attempt_at IS NOT NULL
            AND t.deadline_at IS NOT NULL
            AND t.deadline_at <= @now
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.set_asides AS z
                WHERE z.kind = N'Run'
                    AND t.execution_id BETWEEN z.first_id AND z.last_id
            )
        ORDER BY t.deadline_at;
        SET @more = CASE WHEN @@ROWCOUNT = @room THEN 1 ELSE @more END;
        UPDATE t
        SET t.lifecycle = CASE WHEN t.attempts = 0 THEN N'Skipped' ELSE N'TimedOut' END,
            t.is_active = 0,
            t.end_time = @now,
            t.next_attempt_at = NULL,
            t.last_message = CONCAT(
                N'Step ', t.step_id, CASE WHEN t.attempts = 0 THEN N' was skipped on ' ELSE N' exceeded its time limit on ' END,
                CASE
                    WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', t.server_name, N'''')
                    ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''')')
                END,
                CASE -- without a reason, it was held before
                    WHEN t.attempts = 0 THEN N': it did not start within the time limit of the step'
                    ELSE N' while it waited for another attempt'
                END,
                N', because ' + h.description, N'.',
                CASE
                    WHEN t.outcome_unknown = 0 THEN NULL
                    WHEN t.is_endpoint = 1 THEN N' Whether the endpoint did its work before is unknown.'
                    ELSE N' Whether the script ran before is unknown.'
                END,
                N' Before: ' + t.last_message
            )
        FROM @waiting AS w
        INNER LOOP JOIN jobs_internal.target_executions AS t ON t.target_execution_id = w.target_execution_id
        OUTER APPLY (
            SELECT v.description
            FROM jobs_internal.target_holds AS v
            WHERE v.target_execution_id = t.target_execution_id
        ) AS h
        WHERE t.next_attempt_at IS NOT NULL
            AND t.deadline_at <= @now;
    END;

    EXECUTE jobs_internal.end_steps @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;

    -- Runs without an active step, and with an ended step that others may come after (IX_step_executions_unfollowed, which is
    -- empty unless versions have dependencies). A run that another transaction holds (such as an uncommitted stop request) waits for a
    -- later pass (I14); allow_overlap is in no index, so that the lock is on the clustered key.
    INSERT INTO @idle (execution_id)
    SELECT TOP (@slice) e.execution_id
    FROM jobs_internal.job_executions AS e
    WHERE e.is_active = 1
        AND e.parked = 0
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = e.execution_id
                AND s.is_active = 1
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND e.execution_id BETWEEN z.first_id AND z.last_id
        )
    UNION ALL
    SELECT DISTINCT TOP (@slice) s.execution_id
    FROM jobs_internal.step_executions AS s
    WHERE s.unfollowed = 1
        AND s.is_active = 0
        AND EXISTS ( -- the others are above
            SELECT 1
            FROM jobs_internal.step_executions AS a
            WHERE a.execution_id = s.execution_id
                AND a.is_active = 1
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND s.execution_id BETWEEN z.first_id AND z.last_id
        );
    INSERT INTO @locked (execution_id, allow_overlap)
    SELECT e.execution_id, e.allow_overlap
    FROM @idle AS i
    INNER LOOP JOIN jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK) ON e.execution_id = i.execution_id;
    SET @locked_runs = @@ROWCOUNT;
    SET @more = CASE WHEN @locked_runs >= @slice THEN 1 ELSE @more END;
    -- Before its first step has a row, so that the lists of its steps are those of a roll-out. That of an undo is there. Plan: per run one
    -- key of UQ_step_executions_step_id.
    IF @locked_runs > 0
        INSERT INTO jobs_internal.rollouts (
            execution_id, job_id, state, next_check_at, seed, on_gate_failure, cancels_running, is_strict
        )
        SELECT r.execution_id, r.job_id, N'Planning', @now, 0, N'pause', 0, 0
        FROM @locked AS l
        INNER JOIN jobs_internal.rollout_runs AS r ON r.execution_id = l.execution_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
        WHERE e.is_active = 1
            AND e.stop_requested_at IS NULL
            AND COALESCE(e.rollout_start, N'') <> N'Undo'
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.execution_id = e.execution_id);
    -- Runs with dependencies start the steps whose conditions hold, and skip the steps whose conditions cannot hold any more.
    IF @locked_runs > 0
        SELECT @dependent = STRING_AGG(CAST(e.execution_id AS NVARCHAR(MAX)), N',')
        FROM @locked AS l
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
        INNER JOIN jobs_internal.job_versions AS v ON v.job_id = e.job_id AND v.version = e.job_version
        WHERE v.has_dependencies = 1;
    IF @dependent IS NOT NULL
        EXECUTE jobs_internal.start_dependent_steps @executions = @dependent, @now = @now;

    -- A step that its condition skipped does not count, except in a rerun that excludes the failure before it (result).
    -- Plan: per run the range of UQ_step_executions_step_id, as many rows as the run has had steps.
    WITH counted AS (
        SELECT
            e.execution_id,
            e.job_id,
            e.job_version,
            v.has_dependencies,
            CASE WHEN e.rerun_of IS NULL THEN 0 ELSE 1 END AS rerun,
            CASE WHEN e.stop_requested_at IS NULL THEN 0 ELSE 1 END AS stopping,
            COUNT(s.step_execution_id) AS steps,
            SUM(CASE WHEN s.is_active = 1 THEN 1 ELSE 0 END) AS active,
            SUM(CASE WHEN s.lifecycle = N'Canceled' THEN 1 ELSE 0 END) AS canceled,
            SUM(CASE WHEN s.lifecycle = N'Failed' THEN 1 ELSE 0 END) AS failed,
            SUM(CASE WHEN s.lifecycle = N'TimedOut' THEN 1 ELSE 0 END) AS timed_out,
            SUM(CASE
                WHEN s.skipped_by_condition = 0 AND s.lifecycle IN (N'Skipped', N'SucceededWithSkipped') THEN 1
                WHEN s.result IS NOT NULL THEN 1
                ELSE 0
            END) AS skipped
        FROM @locked AS l
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
        INNER JOIN jobs_internal.job_versions AS v ON v.job_id = e.job_id AND v.version = e.job_version
        LEFT JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
        WHERE e.is_active = 1
        GROUP BY e.execution_id, e.job_id, e.job_version, v.has_dependencies, e.rerun_of, e.stop_requested_at
    )
    INSERT INTO @movable (
        execution_id, job_id, job_version, has_dependencies, stopping, steps, canceled, failed, timed_out, skipped, has_next, rerun,
        rollout
    )
    SELECT
        c.execution_id,
        c.job_id,
        c.job_version,
        c.has_dependencies,
        c.stopping,
        c.steps,
        c.canceled,
        c.failed,
        c.timed_out,
        c.skipped,
        CASE
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS js
                WHERE js.job_id = c.job_id
                    AND js.version = c.job_version
                    AND js.step_id = c.steps + 1
            ) THEN 1
            ELSE 0
        END,
        c.rerun,
        CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.rollout_runs AS r WHERE r.execution_id = c.execution_id) THEN 1 ELSE 0 END
    FROM counted AS c
    WHERE c.active = 0;

    IF EXISTS (SELECT 1 FROM @movable AS m)
    BEGIN
        INSERT INTO jobs_internal.step_executions (
            execution_id, job_id, job_version, step_id, lifecycle, is_active, create_time, next_attempt_at, last_message
        )
        SELECT
            m.execution_id, m.job_id, m.job_version, m.steps + 1, N'Created', 1, @now,
            CASE WHEN m.rerun = 0 THEN @now END, -- reruns: jobs_internal.start_rerun_steps
            CONCAT(N'Step ', m.steps + 1, N' created.')
        FROM @movable AS m
        WHERE m.has_dependencies = 0
            AND m.has_next = 1
            AND m.stopping = 0
            AND m.canceled + m.failed + m.timed_out = 0;
        -- The next pass lists the targets of steps of reruns.
        SET @more = CASE
            WHEN @@ROWCOUNT > 0 AND EXISTS (SELECT 1 FROM @movable AS m WHERE m.rerun = 1) THEN 1
            ELSE @more
        END;

        UPDATE e
        SET e.lifecycle = N'WaitingForChildJobExecutions',
            e.start_time = COALESCE(e.start_time, @now),
            e.last_message = CONCAT(N'Step ', m.steps + 1, N' started.')
        FROM @movable AS m
        INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = m.execution_id
        WHERE m.has_dependencies = 0
            AND m.has_next = 1
            AND m.stopping = 0
            AND m.canceled + m.failed + m.timed_out = 0;

        UPDATE e
        SET e.lifecycle = r.lifecycle,
            e.is_active = 0,
            e.parked = 0,
            e.end_time = @now,
            e.last_message = CONCAT(
                CASE r.lifecycle
                    WHEN N'Canceled' THEN CONCAT(N'Job execution canceled', N' by ' + e.stop_requested_by, N'.')
                    WHEN N'Failed' THEN N'Job execution failed.'
                    WHEN N'TimedOut' THEN N'Job execution timed out.'
                    WHEN N'SucceededWithSkipped' THEN N'Job execution succeeded with skipped targets.'
                    ELSE N'Job execution succeeded.'
                END,
                CASE
                    WHEN r.lifecycle = N'Succeeded' AND r.targets = 0 THEN N' The roll-out has no targets.'
                    WHEN r.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN N' ' + ( -- as jobs.Tolerated of Go
                        SELECT
                            CAST(SUM(s.tolerated) AS NVARCHAR(12)) + N' of ' + CAST(SUM(s.targets) AS NVARCHAR(12))
                            + N' failed (tolerated).'
                        FROM jobs_internal.step_executions AS s
                        WHERE s.execution_id = r.execution_id
                    )
                    WHEN r.lifecycle IN (N'Failed', N'TimedOut') THEN N' ' + COALESCE(r.reason, (
                        SELECT TOP (1) s.last_message
                        FROM jobs_internal.step_executions AS s
                        WHERE s.execution_id = r.execution_id
                            AND s.lifecycle = r.lifecycle
                        ORDER BY s.step_id
                    ))
                END
            )
        FROM (
            SELECT
                m.execution_id,
                CASE
                    WHEN m.canceled > 0 THEN N'Canceled'
                    WHEN m.failed > 0 THEN N'Failed'
                    WHEN m.timed_out > 0 THEN N'TimedOut'
                    WHEN m.stopping = 1 AND m.has_next = 1 THEN N'Canceled'
                    WHEN o.state = N'Aborted' THEN N'Canceled'
                    WHEN o.state = N'Failed' THEN N'Failed'
                    WHEN o.left_out = 0 THEN N'Succeeded'
                    WHEN m.skipped > 0 THEN N'SucceededWithSkipped'
                    ELSE N'Succeeded'
                END AS lifecycle,
                o.reason,
                o.targets
            FROM @movable AS m
            OUTER APPLY (
                SELECT
                    o.state,
                    o.reason,
                    o.targets,
                    CASE
                        WHEN o.targets > (
                            SELECT COALESCE(SUM(w.succeeded), 0)
                            FROM jobs_internal.rollout_waves AS w
                            WHERE w.execution_id = o.execution_id
                        ) THEN 1
                        ELSE 0
                    END AS left_out
                FROM jobs_internal.rollouts AS o WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
                WHERE o.execution_id = m.execution_id
                    AND o.ended_at IS NOT NULL
            ) AS o
            -- With dependencies, every step gets a row. One without a row follows a step that ended after the decisions above: the next
            -- pass decides on it.
            WHERE (
                    m.has_next = 0
                    OR m.stopping = 1
                    OR (m.has_dependencies = 0 AND m.canceled + m.failed + m.timed_out > 0)
                )
                -- A roll-out has ended, or its targets were not resolved.
                AND (
                    m.rollout = 0
                    OR o.state IS NOT NULL
                    OR m.canceled + m.failed + m.timed_out > 0
                    OR (m.stopping = 1 AND m.steps = 0)
                )
        ) AS r
        INNER LOOP JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id;

        -- In the transaction that ends them, so that no rule of alerts and no event misses one.
        IF EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS a WHERE a.watches_runs = 1 AND a.enabled = 1)
            OR EXISTS (SELECT 1 FROM jobs_internal.tenants AS n WHERE n.events_channel IS NOT NULL)
            INSERT INTO jobs_internal.alert_runs (execution_id)
            SELECT e.execution_id
            FROM @movable AS m
            INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = m.execution_id
            WHERE e.is_active = 0
                AND e.mode IS NULL; -- who started a trial looks at it

        -- In the same transaction, so that no trigger misses a run (I26). Plan: job_triggers is small, per run a range of
        -- IX_job_trigger_upstreams_upstream_job_id, per trigger one of IX_trigger_events_waiting.
        IF EXISTS (SELECT 1 FROM jobs_internal.job_triggers AS t WHERE t.enabled = 1)
        BEGIN
            WITH events AS (
                SELECT
                    t.trigger_id,
                    t.job_id,
                    t.generation,
                    e.job_id AS upstream_job_id,
                    e.execution_id,
                    e.job_execution_id,
                    e.lifecycle,
                    ROW_NUMBER() OVER (PARTITION BY t.trigger_id, e.job_id ORDER BY e.execution_id) + (
                        SELECT COUNT(*)
                        FROM jobs_internal.trigger_events AS w
                        WHERE w.job_id = t.job_id
                            AND w.trigger_id = t.trigger_id
                            AND w.upstream_job_id = e.job_id
                            AND w.is_waiting = 1
                    ) AS place
                FROM @movable AS m
                INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = m.execution_id
                INNER JOIN jobs_internal.job_trigger_upstreams AS u ON u.upstream_job_id = e.job_id
                INNER JOIN jobs_internal.job_triggers AS t ON t.trigger_id = u.trigger_id
                WHERE e.is_active = 0
                    AND e.mode IS NULL
                    AND e.rollout_of IS NULL -- the roll-out as a whole counts, not its waves
                    AND COALESCE(e.rollout_start, N'') <> N'Undo'
                    AND t.enabled = 1
                    AND (
                        t.run_when = N'Finished'
                        OR (t.run_when = N'Succeeded' AND e.lifecycle IN (N'Succeeded', N'SucceededWithSkipped'))
                        OR (t.run_when = N'Failed' AND e.lifecycle IN (N'Failed', N'TimedOut'))
                    )
            )
            INSERT INTO jobs_internal.trigger_events (
                trigger_id, job_id, generation, upstream_job_id, upstream_execution_id, upstream_run, upstream_lifecycle, created_at,
                is_waiting, ended_at, reason
            )
            SELECT
                v.trigger_id,
                v.job_id,
                v.generation,
                v.upstream_job_id,
                v.execution_id,
                v.job_execution_id,
                v.lifecycle,
                @now,
                CASE WHEN v.place > 100 THEN 0 ELSE 1 END,
                CASE WHEN v.place > 100 THEN @now END,
                CASE WHEN v.place > 100 THEN N'100 executions of the upstream job wait already, the most that a trigger keeps.' END
            FROM events AS v
            ORDER BY v.execution_id, v.trigger_id;
            -- Once after runs have ended: a trigger whose job another session holds does not make pass follow pass.
            SET @more = CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.ready_triggers AS r) THEN 1 ELSE @more END;
        END;
    END;
    EXECUTE jobs_internal.skip_actions @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    EXECUTE jobs_internal.advance_rollouts @slice = @slice, @more = @cut OUTPUT, @now = @now;
    SET @more = CASE WHEN @cut = 1 THEN 1 ELSE @more END;
    EXECUTE jobs_internal.park_executions @slice = @slice;
    RETURN 0;
END;
