-- Reports, instead of the application, how the work of an action ended that waits for a callback. The view jobs.callbacks lists
-- the callbacks. The next pass of an agent ends the wait. The same report again changes nothing; it is refused (50061)
-- if it names the run only and another callback of the run is open by then.
--
-- Parameters:
--   @job_execution_id  Id of the run.
--   @success           1: the work succeeded, 0: it failed; a failure is retried by the step's policy.
--   @message           Text for last_message; cut to 16384 characters.
--   @step_id           Step; required if several steps of the run have open callbacks, or one was reported with the same @success.
--   @target_id         Target; required in the same way.
--   @attempt           Attempt; required if a failure of an earlier attempt was reported, and this is one, too.
-- Called by: members of the role jobs_operator.
-- Locks:     see jobs_internal.store_report; an insert into audit_entries.
-- Audit:     jobs_internal.store_report writes the entry, in the transaction of the report.
-- Job agent: in each state: it ends work.
-- Returns:   0.
-- Throws:
--   50028 the job execution id is missing.
--   50060 an argument is missing.
--   50061 the report may be about several callbacks.
--   50111 the job execution does not exist.
--   50135 there is no such callback.
--   50136 the caller has a transaction.
--   50137 the callback has ended with another report, or without one.
CREATE OR ALTER PROCEDURE jobs.sp_complete_callback
    @job_execution_id UNIQUEIDENTIFIER = NULL,
    @success          BIT = NULL,
    @message          NVARCHAR(MAX) = NULL,
    @step_id          INT = NULL,
    @target_id        UNIQUEIDENTIFIER = NULL,
    @attempt          INT = NULL
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
    DECLARE @first_attempt INT = 0;
    DECLARE @last_attempt INT = 2147483647;
    DECLARE @found_attempt INT;
    DECLARE @found INT;
    DECLARE @ambiguous BIT = 0;
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

    IF @attempt IS NOT NULL
        SELECT @first_attempt = @attempt, @last_attempt = @attempt;

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
        WHERE c.closed_at IS NULL
            AND c.attempt BETWEEN @first_attempt AND @last_attempt;
    END
    -- Plan: the run's range of IX_callbacks_open, up to the second callback.
    ELSE IF @step_id IS NOT NULL
        INSERT INTO @open (target_execution_id, attempt)
        SELECT TOP (2) c.target_execution_id, c.attempt
        FROM jobs_internal.callbacks AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
        WHERE c.execution_id = @execution_id
            AND c.closed_at IS NULL
            AND c.attempt BETWEEN @first_attempt AND @last_attempt
            AND t.step_id = @step_id;
    ELSE
        INSERT INTO @open (target_execution_id, attempt)
        SELECT TOP (2) c.target_execution_id, c.attempt
        FROM jobs_internal.callbacks AS c
        WHERE c.execution_id = @execution_id
            AND c.closed_at IS NULL
            AND c.attempt BETWEEN @first_attempt AND @last_attempt;
    SELECT
        @target_execution_id = MAX(o.target_execution_id),
        @found_attempt = MAX(o.attempt),
        @found = COUNT(*)
    FROM @open AS o;
    IF @found > 1
    BEGIN
        SET @error = REPLACE(CONCAT(
            N'The job execution ', @job_execution_id,
            N' has several open callbacks there: want @step_id, @target_id and @attempt of one of them. The view jobs.callbacks lists them.'
        ), N'%', N'%%');
        THROW 50061, @error, 1;
    END;
    -- A caller that got no answer calls again. If the wait that it ended is over by then and the next callback is open, the names of the
    -- first call fit that one. A report with the other @success is no repetition.
    IF @found = 1 AND @target_id IS NOT NULL
        SELECT TOP (1) @ambiguous = 1
        FROM @targets AS t
        INNER JOIN jobs_internal.callbacks AS c ON c.target_execution_id = t.target_execution_id
        WHERE c.attempt BETWEEN @first_attempt AND @last_attempt
            AND c.success = @success
            AND (c.target_execution_id <> @target_execution_id OR c.attempt <> @found_attempt);
    -- Plan: the run's range of IX_callbacks_execution_id, up to the first such callback.
    ELSE IF @found = 1
        SELECT TOP (1) @ambiguous = 1
        FROM jobs_internal.callbacks AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
        WHERE c.execution_id = @execution_id
            AND c.attempt BETWEEN @first_attempt AND @last_attempt
            AND c.success = @success
            AND (c.target_execution_id <> @target_execution_id OR c.attempt <> @found_attempt)
            -- plan: the range is that of the run in both cases
            AND (@step_id IS NULL OR t.step_id = @step_id);
    IF @ambiguous = 1
    BEGIN
        SELECT @error = REPLACE(CONCAT(
            N'The report may repeat an earlier one: the job execution ', @job_execution_id,
            N' has one callback that is open, and one that was reported as ',
            CASE WHEN @success = 1 THEN N'succeeded' ELSE N'failed' END,
            N' before. To report on the open one, name it: want @step_id (', t.step_id, N'), @target_id (', t.target_id,
            N') and @attempt (', @found_attempt, N'). The view jobs.callbacks lists all callbacks.'
        ), N'%', N'%%')
        FROM jobs_internal.target_executions AS t
        WHERE t.target_execution_id = @target_execution_id;
        THROW 50061, @error, 1;
    END;
    IF @found = 0 AND @target_id IS NOT NULL
        SELECT TOP (1)
            @target_execution_id = c.target_execution_id,
            @found_attempt = c.attempt
        FROM @targets AS t
        INNER JOIN jobs_internal.callbacks AS c ON c.target_execution_id = t.target_execution_id
        WHERE c.attempt BETWEEN @first_attempt AND @last_attempt
        ORDER BY c.opened_at DESC, c.target_execution_id DESC, c.attempt DESC;
    -- Plan: the end of the run's range of IX_callbacks_execution_id, which has the key of the row.
    ELSE IF @found = 0 AND @step_id IS NOT NULL
        SELECT TOP (1)
            @target_execution_id = c.target_execution_id,
            @found_attempt = c.attempt
        FROM jobs_internal.callbacks AS c
        INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
        WHERE c.execution_id = @execution_id
            AND c.attempt BETWEEN @first_attempt AND @last_attempt
            AND t.step_id = @step_id
        ORDER BY c.target_execution_id DESC, c.attempt DESC;
    ELSE IF @found = 0
        SELECT TOP (1)
            @target_execution_id = c.target_execution_id,
            @found_attempt = c.attempt
        FROM jobs_internal.callbacks AS c
        WHERE c.execution_id = @execution_id
            AND c.attempt BETWEEN @first_attempt AND @last_attempt
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
        @attempt = @found_attempt,
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
