-- Ends the tasks of terms that have ended. Their outcomes are unknown (I8). An unknown outcome counts as an attempt and
-- is retried by the step's policy (decision 31), unless the step's on_unknown_outcome is Fail.
--
-- Parameters:
--   @now  For tests only.
-- Called by: jobs_internal.start_term, jobs_internal.end_term, jobs_internal.advance, within their transactions.
-- Locks:     the tasks (X) and their targets or steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.hand_over
    @now DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @outcomes NVARCHAR(MAX) = N'[]';

    WHILE @outcomes IS NOT NULL
    BEGIN
        SET @outcomes = (
            SELECT TOP (1000)
                k.task_id,
                k.attempt,
                N'Unknown' AS outcome,
                CONCAT(N'the agent on ''', a.host_name, N''' ended or lost its lease while it held the task.') AS message
            FROM jobs_internal.task_executions AS k
            INNER JOIN jobs_internal.terms AS t ON t.term_id = k.term_id
            INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
            WHERE k.ended_at IS NULL
                AND t.ended_at IS NOT NULL
            ORDER BY k.term_id, k.task_id -- as in IX_task_executions_held
            FOR JSON PATH
        );
        IF @outcomes IS NOT NULL
            EXECUTE jobs_internal.record_outcomes @outcomes = @outcomes, @now = @now;
    END;
    RETURN 0;
END;
