-- Begins the lists of T-SQL steps with on_targets = Failed or Succeeded (I3), which jobs_internal.write_lists writes: the databases on
-- which the steps that caused them (rows of step_execution_causes) failed or exceeded their time limit, or succeeded, each once. A
-- step without such databases is Succeeded at once (decision 5). Actions get theirs from controller_pass, because an agent
-- knows the host that they call.
--
-- In a rerun, a failure of the origin that the rerun excludes counts as well, if the step ended there in one of the given
-- states on that target.
--
-- Parameters:
--   @slice  Maximum number of lists that it begins, at least 1; the next pass begins the others.
--   @more   Output. 1: that many were begun, so the next pass should follow at once.
-- Called by: jobs_internal.advance, within its transaction.
-- Locks:     inserts into step_lists, and the steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.freeze_failed_targets
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);

    -- Plan: IX_step_executions_waits_for_list.
    INSERT INTO @steps (step_execution_id)
    SELECT TOP (@slice) s.step_execution_id
    FROM jobs_internal.step_executions AS s
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
    WHERE s.waits_for_list = 1
        AND s.is_active = 1
        AND e.stop_requested_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND s.execution_id BETWEEN z.first_id AND z.last_id
        );
    SET @more = CASE WHEN @@ROWCOUNT = @slice THEN 1 ELSE 0 END;
    INSERT INTO jobs_internal.step_lists (step_execution_id, job_id, source)
    SELECT s.step_execution_id, s.job_id, d.on_targets
    FROM @steps AS w
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id;
    UPDATE s
    SET s.lifecycle = N'InProgress',
        s.start_time = @now,
        s.waits_for_list = 0,
        s.last_message = CONCAT(N'Step ', s.step_id, N' waits until the list of its targets is complete.')
    FROM @steps AS w
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = w.step_execution_id;
    RETURN 0;
END;
