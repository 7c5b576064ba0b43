-- Ends the tasks of terms that have ended. Their outcomes are unknown (I8). An unknown outcome counts as an attempt and
-- is retried by the step's policy (decision 31), unless the step's on_unknown_outcome is Fail. An action is handed back
-- uncounted if its attempt did not call jobs_internal.begin_send; otherwise the request may have been sent: it is
-- unknown, or awaits a report if the step's on_unknown_outcome is Await.
--
-- Cost: (held tasks of all terms) once, by an index that has no others; then (tasks of the terms that have ended). A term holds at most
-- twice as many tasks as its agent runs (20,000).
--
-- Parameters:
--   @slice  Number of tasks that one statement ends, at least 1.
--   @now    For tests only.
-- Called by: jobs_internal.start_term, jobs_internal.end_term, jobs_internal.advance, within their transactions.
-- Locks:     the tasks (X), their callbacks (X), and their targets or steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.hand_over
    @slice INT = 1000,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @outcomes NVARCHAR(MAX) = N'[]';
    DECLARE @terms TABLE (term_id BIGINT NOT NULL PRIMARY KEY); -- that have ended and hold tasks

    -- Once, not for each slice. Plan: the keys of IX_task_executions_held, and one key of terms each.
    INSERT INTO @terms (term_id)
    SELECT h.term_id
    FROM (SELECT DISTINCT k.term_id FROM jobs_internal.task_executions AS k WHERE k.ended_at IS NULL) AS h
    INNER JOIN jobs_internal.terms AS t ON t.term_id = h.term_id
    WHERE t.ended_at IS NOT NULL;

    WHILE @outcomes IS NOT NULL AND EXISTS (SELECT 1 FROM @terms AS w)
    BEGIN
        SET @outcomes = (
            SELECT TOP (@slice)
                k.task_id,
                k.attempt,
                CASE WHEN k.kind = N'Run' AND c.command_type NOT IN (N'TSql', N'Upkeep') THEN N'NoAnswer' ELSE N'Unknown' END AS outcome,
                CASE WHEN k.kind = N'Run' AND c.command_type NOT IN (N'TSql', N'Upkeep') THEN N'Returned' END AS unsent_outcome,
                CONCAT(N'the agent on ''', a.host_name, N''' ended or lost its lease while it held the task.') AS message
            FROM @terms AS w
            INNER JOIN jobs_internal.task_executions AS k ON k.term_id = w.term_id
            INNER JOIN jobs_internal.terms AS t ON t.term_id = k.term_id
            INNER JOIN jobs_internal.agents AS a ON a.agent_id = t.agent_id
            INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
            INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
            INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
            WHERE k.ended_at IS NULL
            ORDER BY k.term_id, k.task_id -- as in IX_task_executions_held
            FOR JSON PATH
        );
        IF @outcomes IS NOT NULL
            EXECUTE jobs_internal.record_outcomes @outcomes = @outcomes, @now = @now;
    END;
    RETURN 0;
END;
