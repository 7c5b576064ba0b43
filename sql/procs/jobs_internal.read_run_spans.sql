-- Reads what the export of traces shows of runs that have ended: the runs, their steps, and a page of their targets.
--
-- Parameters:
--   @executions          JSON array of execution_id, at most 200.
--   @after_execution_id  Run of the last target of the page before; NULL: the first page, which alone has the runs and steps.
--   @after_target_id     The last target of the page before.
--   @max_targets         Maximum number of targets of the page; at least 1.
-- Called by: agent/trace_feed.go, if the agent exports traces.
-- Locks:     nothing.
-- Returns:   1: execution_id, job_execution_id, job_name, job_id, job_version, lifecycle, create_time, start_time, end_time, rerun_of
--               (its id; NULL: none, or purged), schedule_name (NULL: started by hand), due_at, is_backfill, traceparent.
--            2: execution_id, step_id, step_name, target_group_name, lifecycle, create_time, start_time, end_time, attempts.
--            3: execution_id, target_execution_id, step_id, internal_id, server_name, database_name, is_endpoint, lifecycle,
--               create_time, start_time, end_time, attempts, error_number, outcome_unknown; in the order of runs, of their
--               steps, and of the keys.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.read_run_spans
    @executions         NVARCHAR(MAX),
    @after_execution_id BIGINT = NULL,
    @after_target_id    BIGINT = NULL,
    @max_targets        INT = 1000
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @runs TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @first BIT = CASE WHEN @after_execution_id IS NULL THEN 1 ELSE 0 END;
    DECLARE @after_step BIGINT = COALESCE(( -- of the last target of the page before
        SELECT t.step_execution_id
        FROM jobs_internal.target_executions AS t
        WHERE t.target_execution_id = @after_target_id
    ), 0);

    IF COALESCE(ISJSON(@executions), 0) = 0 OR @max_targets IS NULL OR @max_targets < 1
        THROW 50029, N'Invalid argument of read_run_spans: want a JSON array of execution ids, and at least 1 target.', 1;

    INSERT INTO @runs (execution_id)
    SELECT DISTINCT TOP (200) CAST(r.value AS BIGINT)
    FROM OPENJSON(@executions) AS r;

    SELECT
        e.execution_id,
        e.job_execution_id,
        j.name AS job_name,
        e.job_id,
        e.job_version,
        e.lifecycle,
        e.create_time,
        e.start_time,
        e.end_time,
        o.job_execution_id AS rerun_of,
        c.name AS schedule_name,
        e.due_at,
        CAST(CASE WHEN e.backfill_id IS NULL THEN 0 ELSE 1 END AS BIT) AS is_backfill,
        e.traceparent
    FROM @runs AS r
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    LEFT JOIN jobs_internal.job_executions AS o ON o.execution_id = e.rerun_of
    LEFT JOIN jobs_internal.schedules AS c ON c.schedule_id = e.schedule_id
    WHERE @first = 1
        AND e.is_active = 0
    ORDER BY e.execution_id;

    SELECT
        s.execution_id,
        s.step_id,
        d.step_name,
        d.target_group_name,
        s.lifecycle,
        s.create_time,
        s.start_time,
        s.end_time,
        s.attempts
    FROM @runs AS r
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = r.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    WHERE @first = 1
        AND s.is_active = 0
    ORDER BY s.execution_id, s.step_id;

    -- Plan: ranges of IX_target_executions_execution_id in its order, from the last target of the page before on: the rest of its step,
    -- later steps of its run, and later runs. Each reads @max_targets keys at most, with a lookup for each.
    WITH following AS (
        SELECT f.target_execution_id, f.execution_id, f.step_execution_id
        FROM (
            SELECT TOP (@max_targets) t.target_execution_id, t.execution_id, t.step_execution_id
            FROM @runs AS r
            INNER LOOP JOIN jobs_internal.target_executions AS t ON t.execution_id = r.execution_id
            WHERE r.execution_id = @after_execution_id
                AND t.step_execution_id = @after_step
                AND t.target_execution_id > @after_target_id
                AND t.is_active = 0
            ORDER BY t.target_execution_id
        ) AS f
        UNION ALL
        SELECT f.target_execution_id, f.execution_id, f.step_execution_id
        FROM (
            SELECT TOP (@max_targets) t.target_execution_id, t.execution_id, t.step_execution_id
            FROM @runs AS r
            INNER LOOP JOIN jobs_internal.target_executions AS t ON t.execution_id = r.execution_id
            WHERE r.execution_id = @after_execution_id
                AND t.step_execution_id > @after_step
                AND t.is_active = 0
            ORDER BY t.step_execution_id, t.target_execution_id
        ) AS f
        UNION ALL
        SELECT f.target_execution_id, f.execution_id, f.step_execution_id
        FROM (
            SELECT TOP (@max_targets) t.target_execution_id, t.execution_id, t.step_execution_id
            FROM @runs AS r
            INNER LOOP JOIN jobs_internal.target_executions AS t ON t.execution_id = r.execution_id
            WHERE r.execution_id > COALESCE(@after_execution_id, 0)
                AND t.is_active = 0
            ORDER BY r.execution_id, t.step_execution_id, t.target_execution_id
        ) AS f
    )
    SELECT TOP (@max_targets)
        t.execution_id,
        t.target_execution_id,
        t.step_id,
        t.internal_id,
        t.server_name,
        t.database_name,
        t.is_endpoint,
        t.lifecycle,
        t.create_time,
        t.start_time,
        t.end_time,
        t.attempts,
        t.error_number,
        t.outcome_unknown
    FROM following AS f
    INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = f.target_execution_id
    ORDER BY f.execution_id, f.step_execution_id, f.target_execution_id;
    RETURN 0;
END;
