-- Ends the tasks of terms that have ended. Their outcomes are unknown (I8). An unknown outcome counts as an attempt and
-- is retried by the step's policy (decision 31), unless the step's on_unknown_outcome is Fail. An action is handed back
-- uncounted if its attempt did not call jobs_internal.begin_send; otherwise the request may have been sent: it is
-- unknown, or awaits a report if the step's on_unknown_outcome is Await.
--
-- Cost: (terms that hold tasks), one key each; then (tasks of the terms that have ended), at most @slice a call. A pass ends the rest, so a
-- lost agent of 20,000 tasks makes no transaction longer (I15). Nothing else changes such a task meanwhile, because its term has ended.
--
-- Parameters:
--   @slice  Maximum number of tasks that a call ends, at least 1.
--   @more   Output. 1: that many were ended, so the next pass should follow at once.
-- Called by: jobs_internal.start_term, jobs_internal.end_term, jobs_internal.advance, within their transactions.
-- Locks:     the tasks (X), their callbacks (X), and their targets or steps (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.hand_over
    @slice INT = 5000,
    @more  BIT = 0 OUTPUT,
    @now   DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @more = 0;
    DECLARE @room INT = @slice; -- tasks that this call may still end
    DECLARE @batch INT; -- tasks of one list of outcomes, at most
    DECLARE @count INT;
    DECLARE @term_id BIGINT = 0;
    DECLARE @outcomes NVARCHAR(MAX);
    DECLARE @terms TABLE (term_id BIGINT NOT NULL PRIMARY KEY); -- that have ended and hold tasks

    -- Plan: per term that holds tasks one key of IX_task_executions_held and one of terms. The tasks between are not read.
    WHILE @term_id IS NOT NULL
    BEGIN
        SET @term_id = (
            SELECT TOP (1) k.term_id
            FROM jobs_internal.task_executions AS k
            WHERE k.ended_at IS NULL
                AND k.term_id > @term_id
            ORDER BY k.term_id
        );
        INSERT INTO @terms (term_id)
        SELECT t.term_id
        FROM jobs_internal.terms AS t
        WHERE t.term_id = @term_id
            AND t.ended_at IS NOT NULL;
    END;
    IF NOT EXISTS (SELECT 1 FROM @terms AS w)
        RETURN 0;

    WHILE @room > 0
    BEGIN
        SET @batch = CASE WHEN @room < 1000 THEN @room ELSE 1000 END;
        SET @outcomes = (
            SELECT TOP (@batch)
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
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.set_asides AS z
                    WHERE z.kind = N'Run'
                        AND k.execution_id BETWEEN z.first_id AND z.last_id
                )
            ORDER BY k.term_id, k.task_id -- as in IX_task_executions_held
            FOR JSON PATH
        );
        IF @outcomes IS NULL
            RETURN 0;
        EXECUTE jobs_internal.record_outcomes @outcomes = @outcomes, @now = @now;
        SET @count = (SELECT COUNT(*) FROM OPENJSON(@outcomes) AS o);
        SET @room = @room - @count;
        IF @count < @batch
            RETURN 0;
    END;
    SET @more = 1;
    RETURN 0;
END;
