-- Skips the steps of runs with a mode that are no scripts: actions and upkeep, of which nothing is sent. Claims leave them out. The steps
-- that come after them start, because nothing failed.
--
-- Cost: the active runs with a mode, times their active steps, by IX_job_executions_active_mode, which is empty unless there are such runs.
--
-- Parameters:
--   @slice  Maximum number of steps that are skipped, at least 1.
--   @more   Output. 1: a step was skipped, so the next pass, which starts the steps after it, should follow at once.
-- Called by: jobs_internal.advance, within its transaction.
-- Locks:     the steps (X), which no claim takes.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.skip_actions
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @skipped TABLE (
        step_execution_id BIGINT NOT NULL PRIMARY KEY,
        mode              NVARCHAR(10) NOT NULL,
        command_type      NVARCHAR(50) NOT NULL
    );

    IF NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.is_active = 1 AND e.mode IS NOT NULL)
        RETURN 0;
    INSERT INTO @skipped (step_execution_id, mode, command_type)
    SELECT TOP (@slice) s.step_execution_id, e.mode, c.command_type
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
    WHERE e.is_active = 1
        AND e.mode IS NOT NULL
        AND s.is_active = 1
        AND s.lifecycle = N'Created'
        AND c.command_type <> N'TSql'
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.set_asides AS z
            WHERE z.kind = N'Run'
                AND e.execution_id BETWEEN z.first_id AND z.last_id
        );
    IF @@ROWCOUNT = 0
        RETURN 0;
    UPDATE s
    SET s.lifecycle = N'Skipped',
        s.is_active = 0,
        s.end_time = @now,
        s.next_attempt_at = NULL,
        s.last_message = CONCAT(
            N'Step ', s.step_id, N' was skipped: the run is a ', CASE k.mode WHEN N'Trial' THEN N'trial' ELSE N'preflight' END,
            N', and its command, of type ', k.command_type, N', is not a script. Nothing was sent.'
        )
    FROM @skipped AS k
    INNER LOOP JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    WHERE s.lifecycle = N'Created';
    SET @more = 1;
    RETURN 0;
END;
