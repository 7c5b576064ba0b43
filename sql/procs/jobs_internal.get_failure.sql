-- Reads how the steps before a step failed (its causes, in step_execution_causes), for the variables error.* of an action. If several
-- targets failed, it is the one of the same target, otherwise the latest one. A step that failed before it had targets counts as a
-- failure without a target.
--
-- Parameters:
--   @task_id  The attempt of the action.
-- Called by: agent/action.go, once per attempt of an action that names such a variable.
-- Locks:     nothing.
-- Returns:   at most one row: lifecycle (Failed or TimedOut), message, attempts, server_name, database_name (both NULL without a
--            target) and status_code (of the latest response to an HTTP action; NULL: none). No row: nothing failed.
CREATE OR ALTER PROCEDURE jobs_internal.get_failure
    @task_id BIGINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @execution_id BIGINT;
    DECLARE @step_id INT;
    DECLARE @target_id UNIQUEIDENTIFIER;
    DECLARE @step_execution_id BIGINT;
    DECLARE @target_execution_id BIGINT;
    DECLARE @status_code INT;
    DECLARE @steps TABLE (step_execution_id BIGINT NOT NULL PRIMARY KEY);

    SELECT
        @execution_id = s.execution_id,
        @step_id = s.step_id,
        @target_id = t.target_id
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    WHERE k.task_id = @task_id;

    -- A step without causes starts after success only.
    INSERT INTO @steps (step_execution_id)
    SELECT p.step_execution_id
    FROM jobs_internal.step_execution_causes AS c
    INNER JOIN jobs_internal.step_executions AS p ON p.execution_id = c.execution_id AND p.step_id = c.cause_step_id
    WHERE c.execution_id = @execution_id
        AND c.step_id = @step_id;

    SELECT TOP (1)
        @step_execution_id = t.step_execution_id,
        @target_execution_id = t.target_execution_id
    FROM @steps AS p
    INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = p.step_execution_id
    WHERE t.lifecycle IN (N'Failed', N'TimedOut')
    ORDER BY CASE WHEN t.target_id = @target_id THEN 0 ELSE 1 END, t.end_time DESC, t.target_execution_id DESC;

    IF @target_execution_id IS NULL
    BEGIN
        SELECT TOP (1)
            s.lifecycle,
            s.last_message AS message,
            s.attempts,
            CAST(NULL AS NVARCHAR(256)) AS server_name,
            CAST(NULL AS NVARCHAR(128)) AS database_name,
            CAST(NULL AS INT) AS status_code
        FROM @steps AS p
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = p.step_execution_id
        WHERE s.lifecycle IN (N'Failed', N'TimedOut')
        ORDER BY s.end_time DESC, s.step_execution_id DESC;
        RETURN 0;
    END;

    -- Responses of queues have the number 0.
    SELECT TOP (1) @status_code = m.number
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.task_messages AS m ON m.task_id = k.task_id
    WHERE k.execution_id = @execution_id
        AND k.step_execution_id = @step_execution_id
        AND k.target_execution_id = @target_execution_id
        AND m.kind = N'Response'
        AND m.number > 0
    ORDER BY k.task_id DESC, m.ordinal DESC;

    SELECT
        t.lifecycle,
        t.last_message AS message,
        t.attempts,
        t.server_name,
        t.database_name,
        @status_code AS status_code
    FROM jobs_internal.target_executions AS t
    WHERE t.target_execution_id = @target_execution_id;
    RETURN 0;
END;
