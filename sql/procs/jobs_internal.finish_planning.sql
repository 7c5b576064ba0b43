-- Makes the waves of a roll-out, when all steps of its own run have lists and nothing of them runs.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @complete      Output. 1: the roll-out has its waves.
--   @check_at      Output. When to try again, if a job of the plan is awaited; else unchanged.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out, its run (X); inserts waves.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.finish_planning
    @execution_id BIGINT,
    @complete     BIT = 0 OUTPUT,
    @check_at     DATETIME2(7) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @complete = 0;

    -- Its steps have lists, and nothing of them runs. Plan: the range of UQ_step_executions_step_id of the run.
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.execution_id = @execution_id AND s.is_active = 1)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version
            WHERE e.execution_id = @execution_id
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.step_executions AS s
                    WHERE s.execution_id = e.execution_id
                        AND s.step_id = d.step_id
                )
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.execution_id = @execution_id
                AND s.lifecycle IN (N'Failed', N'TimedOut', N'Canceled')
        )
        EXECUTE jobs_internal.add_rollout_waves
            @execution_id = @execution_id,
            @complete = @complete OUTPUT,
            @check_at = @check_at OUTPUT,
            @now = @now;
    IF @complete = 1
        UPDATE e
        SET e.lifecycle = N'WaitingForChildJobExecutions',
            e.parked = 1,
            e.last_message = N'The roll-out assigns its targets to waves.'
        FROM jobs_internal.job_executions AS e
        WHERE e.execution_id = @execution_id;
    RETURN 0;
END;
