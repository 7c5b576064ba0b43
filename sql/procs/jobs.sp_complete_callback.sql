-- Reports, instead of the application, how the work of an action ended that waits for a callback. The view jobs.callbacks lists
-- the callbacks. The next pass of an agent ends the wait.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @success           1: the work succeeded, 0: it failed; a failure is retried by the step's policy.
--   @message           Text for last_message; cut to 16384 characters.
--   @step_id           Step; required if several steps of the run have open callbacks.
--   @target_id         Target; required if several targets have open callbacks.
-- Called by: members of the role jobs_operator.
-- Locks:     see jobs_internal.store_report; an insert into audit_entries.
-- Audit:     jobs_internal.store_report writes the entry, in the transaction of the report.
-- Job agent: in each state: it ends work.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50060 an argument is missing.
--   50061 several targets have open callbacks.
--   50111 the job execution does not exist.
--   50135 there is no such callback.
--   50136 the caller has a transaction.
--   50137 the callback has ended with another report, or without one.
CREATE OR ALTER PROCEDURE jobs.sp_complete_callback
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @success          BIT = NULL,
    @message          NVARCHAR(MAX) = NULL,
    @step_id          INT = NULL,
    @target_id        UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @error NVARCHAR(2048);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @execution_id BIGINT;
    DECLARE @target_execution_id BIGINT;
    DECLARE @attempt INT;
    DECLARE @found INT;
    DECLARE @targets TABLE (target_execution_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @open TABLE (target_execution_id BIGINT NOT NULL, attempt INT NOT NULL, PRIMARY KEY (target_execution_id, attempt));
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);

    IF @@TRANCOUNT > 0
        THROW 50136, N'A report is not accepted inside a transaction, because outcomes would wait for it. Commit first.', 1;
    IF @job_execution_id IS NULL
        THROW 50028, N'Missing job execution id: @job_execution_id is NULL.', 1;
    IF @success IS NULL
        THROW 50060, N'Missing report: want @success = 1 or @success = 0.', 1;

    SELECT
        @execution_id = e.execution_id,
        @job_id = j.job_id,
        @job_name = j.name
    FROM jobs_internal.visible_runs AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE e.job_execution_id = @job_execution_id
        AND j.deleted_at IS NULL;
    IF @execution_id IS NULL
    BEGIN
        SET @error = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' does not exist. The view jobs.job_executions lists all executions.'
        ), N'%', N'%%');
        THROW 50111, @error, 1;
    END;

    -- The open callback, or else the latest one, which refuses the report with the reason. What is given decides what is read.
    IF @target_id IS NOT NULL
    BEGIN
        -- Plan: a key of UQ_target_executions_target_id for the step, or for each step of the run.
        IF @step_id IS NOT NULL
            INSERT INTO @targets (target_execution_id)
            SELECT t.target_execution_id
            FROM jobs_internal.step_executions AS s
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
            WHERE s.execution_id = @execution_id
                AND s.step_id = @step_id
                AND t.target_id = @target_id;
        ELSE
            INSERT INTO @targets (target_execution_id)
            SELECT t.target_execution_id
            FROM jobs_internal.step_executions AS s
            INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
            WHERE s.execution_id = @execution_id
                AND t.target_id = @target_id;
        INSERT INTO @open (target_execution_id, attempt)
        SELECT TOP (2) c.target_execution_id, c.attempt
        FROM @targets AS t
        INNER JOIN jobs_internal.callbacks AS c ON c.target_execution_id = t.target_execution_id
        WHERE c.closed_at IS NULL;
    END
    -- Plan: the run's range of IX_callbacks_open, up to the second callback.
    ELSE IF @step_id IS NOT NULL
        INSERT INTO @open (target_execution_id, attempt)
        SELECT TOP (2) c.target_execution_id, c.attempt
        FROM jobs_internal.callbacks AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
        WHERE c.execution_id = @execution_id
            AND c.closed_at IS NULL
            AND t.step_id = @step_id;
    ELSE
        INSERT INTO @open (target_execution_id, attempt)
        SELECT TOP (2) c.target_execution_id, c.attempt
        FROM jobs_internal.callbacks AS c
        WHERE c.execution_id = @execution_id
            AND c.closed_at IS NULL;
    SELECT
        @target_execution_id = MAX(o.target_execution_id),
        @attempt = MAX(o.attempt),
        @found = COUNT(*)
    FROM @open AS o;
    IF @found > 1
    BEGIN
        SET @error = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id,
            N' has several open callbacks there: want @step_id and @target_id of one of them. The view jobs.callbacks lists them.'
        ), N'%', N'%%');
        THROW 50061, @error, 1;
    END;
    IF @found = 0 AND @target_id IS NOT NULL
        SELECT TOP (1)
            @target_execution_id = c.target_execution_id,
            @attempt = c.attempt
        FROM @targets AS t
        INNER JOIN jobs_internal.callbacks AS c ON c.target_execution_id = t.target_execution_id
        ORDER BY c.opened_at DESC, c.target_execution_id DESC, c.attempt DESC;
    -- Plan: the end of the run's range of IX_callbacks_execution_id, which has the key of the row.
    ELSE IF @found = 0 AND @step_id IS NOT NULL
        SELECT TOP (1)
            @target_execution_id = c.target_execution_id,
            @attempt = c.attempt
        FROM jobs_internal.callbacks AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
        WHERE c.execution_id = @execution_id
            AND t.step_id = @step_id
        ORDER BY c.target_execution_id DESC, c.attempt DESC;
    ELSE IF @found = 0
        SELECT TOP (1)
            @target_execution_id = c.target_execution_id,
            @attempt = c.attempt
        FROM jobs_internal.callbacks AS c
        WHERE c.execution_id = @execution_id
        ORDER BY c.target_execution_id DESC, c.attempt DESC;
    IF @target_execution_id IS NULL
    BEGIN
        SET @error = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id, N' has no such callback. The view jobs.callbacks lists all callbacks.'
        ), N'%', N'%%');
        THROW 50135, @error, 1;
    END;
    EXECUTE jobs_internal.store_report
        @target_execution_id = @target_execution_id,
        @attempt = @attempt,
        @success = @success,
        @message = @message,
        @by = @by,
        @action = N'sp_complete_callback',
        @job_execution_id = @job_execution_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @now = @now;
    RETURN 0;
END;
