-- Makes a control database safe that was restored, or lost its last seconds in a forced failover: pauses it, gives it a new incarnation,
-- ends all terms, and lists what would happen when it is resumed (I16). Tasks that were held end with an unknown outcome. It needs no agent
-- and can be repeated.
--
-- Parameters:
--   @max  Maximum number of rows of each list, 1 to 10000.
-- Called by: members of the role jobs_admin.
-- Locks:     the row of the job agent (X) and that of control_identity (X); active roll-outs (X); terms (X) and their tasks (X), as in
--            jobs_internal.hand_over; an insert into audit_entries.
-- Job agent: in each state: it ends work.
-- Returns:   1: one row: incarnation, paused_time, pause_reason, terms (number of terms that this call has ended), due_schedules and
--               active_runs (numbers of rows without @max).
--            2: schedules that are due, or may be once an agent has validated them: job_name, schedule_name, due_time (the first
--               instant; the activation if none is known yet), catch_up, overlap.
--            3: active runs, oldest first: job_execution_id, job_name, lifecycle, create_time, targets, succeeded, failed, unknown (targets
--               whose latest outcome is unknown), last_message.
-- Throws:
--   50029 an argument is missing or out of range.
--   50136 the caller has a transaction.
CREATE OR ALTER PROCEDURE jobs.sp_after_restore
    @max INT = 1000
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @terms INT;
    DECLARE @incarnation UNIQUEIDENTIFIER; -- the old one, then the new one
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF @max IS NULL OR @max < 1 OR @max > 10000
        THROW 50029, N'Invalid @max of sp_after_restore: want 1 to 10000.', 1;
    IF @@TRANCOUNT > 0
        THROW 50136, N'The control database is not paused or resumed inside a transaction: passes would wait for it. Commit first.', 1;

    SET @incarnation = (SELECT i.incarnation FROM jobs_internal.control_identity AS i);
    -- The pause is a transaction of its own: nothing is claimed while terms end.
    BEGIN TRANSACTION;

    SET @audit_before = (
        SELECT @incarnation AS incarnation, a.paused_at, a.paused_by, a.pause_reason, a.skip_until
        FROM jobs_internal.job_agent AS a
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.check_place @accept = 1;
    SET @incarnation = NEWID();
    UPDATE i
    SET i.incarnation = @incarnation
    FROM jobs_internal.control_identity AS i
    WHERE i.id = 1;
    UPDATE a
    SET a.paused_at = COALESCE(a.paused_at, @now),
        a.paused_by = @caller,
        a.pause_reason = CONCAT(
            N'The database was restored. Look at what would run again, and then run "jobagent db resume", ',
            N'with its option skip-until if instants have run already'
        )
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    SET @audit_after = (
        SELECT @incarnation AS incarnation, a.paused_at, a.paused_by, a.pause_reason, a.skip_until
        FROM jobs_internal.job_agent AS a
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    -- No wave starts on doubt: a person compares what the roll-out has recorded with what has run.
    -- rows: the roll-outs that are active
    UPDATE r
    SET r.paused_at = @now,
        r.paused_by = @caller,
        r.pause_reason = N'The control database was restored. Compare its waves with what has run, and then resume it.'
    FROM jobs_internal.rollouts AS r
    WHERE r.ended_at IS NULL
        AND r.paused_at IS NULL;
    EXECUTE jobs_internal.audit
        @action = N'sp_after_restore',
        @object_kind = N'ControlDatabase',
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;

    BEGIN TRANSACTION;

    -- rows: the terms that last, one an agent
    UPDATE t
    SET t.ended_at = @now,
        t.end_reason = N'Restored'
    FROM jobs_internal.terms AS t
    WHERE t.ended_at IS NULL;
    SET @terms = @@ROWCOUNT;
    EXECUTE jobs_internal.hand_over @now = @now;

    COMMIT TRANSACTION;

    SELECT
        i.incarnation,
        a.paused_at AS paused_time,
        a.pause_reason,
        @terms AS terms,
        (
            SELECT COUNT(*)
            FROM jobs_internal.schedules AS s
            WHERE s.next_fire_at IS NOT NULL
                AND s.next_fire_at <= @now
        ) + (
            SELECT COUNT(*)
            FROM jobs_internal.schedules AS s
            WHERE s.awaits_verdict = 1
                AND s.next_due_at IS NULL
                AND s.enabled = 1
                AND s.paused = 0
        ) AS due_schedules,
        (SELECT COUNT(*) FROM jobs_internal.job_executions AS e WHERE e.is_active = 1) AS active_runs
    FROM jobs_internal.control_identity AS i
    CROSS JOIN jobs_internal.job_agent AS a;

    SELECT TOP (@max)
        j.name AS job_name,
        s.name AS schedule_name,
        d.due_at AS due_time,
        s.catch_up,
        s.overlap
    FROM (
        SELECT
            f.schedule_id,
            f.next_due_at AS due_at
        FROM jobs_internal.schedules AS f
        WHERE f.next_fire_at IS NOT NULL
            AND f.next_fire_at <= @now
        UNION ALL
        -- The first agent validates them, and then the instants since the activation are due.
        SELECT
            w.schedule_id,
            w.activated_at
        FROM jobs_internal.schedules AS w
        WHERE w.awaits_verdict = 1
            AND w.next_due_at IS NULL
            AND w.enabled = 1
            AND w.paused = 0
    ) AS d
    INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = d.schedule_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
    WHERE j.deleted_at IS NULL
    ORDER BY d.due_at, d.schedule_id;

    -- Plan: per run a range of IX_target_executions_execution_id.
    SELECT TOP (@max)
        e.job_execution_id,
        j.name AS job_name,
        e.lifecycle,
        e.create_time,
        COALESCE(c.targets, 0) AS targets,
        COALESCE(c.succeeded, 0) AS succeeded,
        COALESCE(c.failed, 0) AS failed,
        COALESCE(c.unknown, 0) AS unknown,
        e.last_message
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    CROSS APPLY (
        SELECT
            COUNT(*) AS targets,
            SUM(CASE WHEN t.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN 1 ELSE 0 END) AS succeeded,
            SUM(CASE WHEN t.lifecycle IN (N'Failed', N'TimedOut') THEN 1 ELSE 0 END) AS failed,
            SUM(CASE WHEN t.outcome_unknown = 1 THEN 1 ELSE 0 END) AS unknown
        FROM jobs_internal.target_executions AS t
        WHERE t.execution_id = e.execution_id
    ) AS c
    WHERE e.is_active = 1
    ORDER BY e.execution_id;
    RETURN 0;
END;
