-- Counts the next slice of the attempts of a run that has ended: the failed ones, and those that reached their target and that did
-- not. The numbers are in run_counts, because 500,000 attempts take seconds to read, during which nothing else would advance (I15).
-- They do not change meanwhile.
--
-- Cost: (attempts on at most @slice targets of one step, each with a lookup).
--
-- Parameters:
--   @execution_id  The run.
--   @slice         Number of attempts after which the slice ends, with the last target.
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

    -- Plan: a range of IX_task_executions_execution_id with a lookup each.
    SELECT
        @read = COUNT(*),
        @last = MAX(f.target_execution_id),
        @failures = COALESCE(SUM(CASE WHEN f.outcome IN (N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END), 0),
        @reached = COALESCE(SUM(CASE
            WHEN f.unreached = 0 AND f.outcome IN (N'Succeeded', N'Failed', N'TimedOut', N'Unknown') THEN 1
            ELSE 0
        END), 0),
        @unreached = COALESCE(SUM(CASE WHEN f.unreached = 1 THEN 1 ELSE 0 END), 0)
    FROM (
        SELECT TOP (@slice) WITH TIES k.target_execution_id, k.outcome, k.unreached
        FROM jobs_internal.task_executions AS k
        WHERE k.execution_id = @execution_id
            AND k.step_execution_id = @step_execution_id
            AND k.target_execution_id > @after
        ORDER BY k.target_execution_id
    ) AS f;
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
    -- The resolutions of the step, which have no target.
    IF @after = 0
        -- reads: the attempts to resolve one step
        SELECT
            @failures = @failures + COALESCE(SUM(CASE WHEN k.outcome IN (N'Failed', N'TimedOut', N'Unknown') THEN 1 ELSE 0 END), 0),
            @unreached = @unreached + COALESCE(SUM(CASE WHEN k.unreached = 1 THEN 1 ELSE 0 END), 0)
        FROM jobs_internal.task_executions AS k
        WHERE k.execution_id = @execution_id
            AND k.step_execution_id = @step_execution_id
            AND k.target_execution_id IS NULL;
    IF @read < @slice
        SET @next_step = (
            SELECT MIN(s.step_execution_id)
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = @execution_id
                AND s.step_execution_id > @step_execution_id
        );
    UPDATE c
    SET c.step_execution_id = COALESCE(@next_step, c.step_execution_id),
        c.after = CASE WHEN @next_step IS NULL THEN COALESCE(@last, c.after) ELSE 0 END,
        c.is_complete = CASE WHEN @read < @slice AND @next_step IS NULL THEN 1 ELSE 0 END,
        c.failures = c.failures + @failures,
        c.reached = c.reached + @reached,
        c.unreached = c.unreached + @unreached
    FROM jobs_internal.run_counts AS c
    WHERE c.execution_id = @execution_id;
    RETURN 0;
END;
