-- Counts the next slice of the attempts of a run that has ended: the failed ones, and those that reached their target and that did
-- not. The numbers are in run_counts, because 500,000 attempts take seconds to read, during which nothing else would advance (I15).
-- They do not change meanwhile.
--
-- Cost: (at most @slice attempts on targets of one step or to resolve its target group, each with a lookup), in the order of targets, and
-- of attempts on the same target, of which there may be many, too.
--
-- Parameters:
--   @execution_id  The run.
--   @slice         Maximum number of attempts that are counted.
-- Called by: jobs_internal.end_scheduled_runs, within its transaction.
-- Locks:     the row of run_counts (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.count_attempts
    @execution_id BIGINT,
    @slice        INT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @step_execution_id BIGINT;
    DECLARE @after BIGINT = 0;
    DECLARE @task_id BIGINT = 0; -- the last attempt that was counted
    DECLARE @target_id BIGINT; -- its target; NULL: none, or it was to resolve the target group
    DECLARE @next_step BIGINT;
    DECLARE @last BIGINT;
    DECLARE @read INT;
    DECLARE @failures INT = 0;
    DECLARE @reached INT = 0;
    DECLARE @unreached INT = 0;

    SELECT
        @step_execution_id = c.step_execution_id,
        @after = c.after
    FROM jobs_internal.run_counts AS c
    WHERE c.execution_id = @execution_id;
    IF @step_execution_id IS NULL
    BEGIN
        SET @step_execution_id = (
            SELECT MIN(s.step_execution_id)
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = @execution_id
        );
        INSERT INTO jobs_internal.run_counts (execution_id, step_execution_id)
        VALUES (@execution_id, @step_execution_id);
    END;

    IF @after < 0
        SELECT
            @task_id = k.task_id,
            @target_id = k.target_execution_id
        FROM jobs_internal.task_executions AS k
        WHERE k.task_id = -@after;
    IF @after > 0
        SELECT
            @task_id = 9223372036854775807,
            @target_id = @after;
    -- Plan: three ranges of IX_task_executions_execution_id, which ends with task_id, with a lookup for each attempt that is counted.
    WITH following AS (
        SELECT f.target_execution_id, f.task_id, f.outcome, f.unreached
        FROM (
            SELECT TOP (@slice) k.target_execution_id, k.task_id, k.outcome, k.unreached
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = @execution_id
                AND k.step_execution_id = @step_execution_id
                AND k.target_execution_id IS NULL
                AND k.task_id > @task_id
                AND @target_id IS NULL
            ORDER BY k.task_id
        ) AS f
        UNION ALL
        SELECT f.target_execution_id, f.task_id, f.outcome, f.unreached
        FROM (
            SELECT TOP (@slice) k.target_execution_id, k.task_id, k.outcome, k.unreached
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = @execution_id
                AND k.step_execution_id = @step_execution_id
                AND k.target_execution_id = @target_id
                AND k.task_id > @task_id
            ORDER BY k.task_id
        ) AS f
        UNION ALL
        SELECT f.target_execution_id, f.task_id, f.outcome, f.unreached
        FROM (
            SELECT TOP (@slice) k.target_execution_id, k.task_id, k.outcome, k.unreached
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = @execution_id
                AND k.step_execution_id = @step_execution_id
                AND k.target_execution_id > COALESCE(@target_id, 0)
            ORDER BY k.target_execution_id, k.task_id
        ) AS f
    ),
    placed AS (
        SELECT
            f.target_execution_id, f.task_id, f.outcome, f.unreached,
            ROW_NUMBER() OVER (ORDER BY f.target_execution_id, f.task_id) AS place -- NULL comes first
        FROM following AS f
    )
    SELECT
        @read = COUNT(*),
        @last = MAX(CASE WHEN p.place = @slice THEN p.task_id END),
        @failures = COALESCE(SUM(CASE WHEN p.outcome IN (N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END), 0),
        @reached = COALESCE(SUM(CASE
            WHEN p.target_execution_id IS NOT NULL
                AND p.unreached = 0
                AND p.outcome IN (N'Succeeded', N'Failed', N'TimedOut', N'Unknown') THEN 1
            ELSE 0
        END), 0),
        @unreached = COALESCE(SUM(CASE WHEN p.unreached = 1 THEN 1 ELSE 0 END), 0)
    FROM placed AS p
    WHERE p.place <= @slice;
    -- Steps that run after failures may reach other targets, such as the endpoint of an alert: jobs_internal.end_scheduled_runs.
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.step_executions AS s
        INNER JOIN jobs_internal.job_versions AS v ON v.job_id = s.job_id AND v.version = s.job_version
        INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
        WHERE s.step_execution_id = @step_execution_id
            AND v.has_dependencies = 1
            AND d.run_when = N'Failed'
    )
        SET @reached = 0;
    IF @read < @slice
        SET @next_step = (
            SELECT TOP (1) s.step_execution_id
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = @execution_id
                AND s.step_execution_id > @step_execution_id
            ORDER BY s.step_execution_id
        );
    UPDATE c
    SET c.step_execution_id = COALESCE(@next_step, c.step_execution_id),
        c.after = CASE WHEN @next_step IS NULL THEN COALESCE(-@last, c.after) ELSE 0 END,
        c.is_complete = CASE WHEN @read < @slice AND @next_step IS NULL THEN 1 ELSE 0 END,
        c.failures = c.failures + @failures,
        c.reached = c.reached + @reached,
        c.unreached = c.unreached + @unreached
    FROM jobs_internal.run_counts AS c
    WHERE c.execution_id = @execution_id;
    RETURN 0;
END;
