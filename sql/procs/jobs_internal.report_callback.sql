-- Accepts or refuses a report on the attempt whose request carried a token.
--
-- Parameters:
--   @token_hash  SHA-256 of the token.
--   @success     1: the work succeeded, 0: it failed.
--   @message     Text for last_message; cut to 16384 characters.
--   @by          Who reports, for display.
-- Called by: agent/rest/callbacks, in agents and fronts.
-- Locks:     see jobs_internal.store_report.
-- Returns:   0.
-- Throws:
--   50060 an argument is missing.
--   50135 there is no such callback.
--   50136 the caller has a transaction.
--   50137 the callback has ended with another report, or without one.
CREATE OR ALTER PROCEDURE jobs_internal.report_callback
    @token_hash BINARY(32),
    @success    BIT,
    @message    NVARCHAR(MAX) = NULL,
    @by         NVARCHAR(128) = NULL,
    @now        DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @target_execution_id BIGINT;
    DECLARE @attempt INT;

    IF @@TRANCOUNT > 0
        THROW 50136, N'A report is not accepted inside a transaction, because outcomes would wait for it. Commit first.', 1;
    IF @token_hash IS NULL OR @success IS NULL
        THROW 50060, N'Missing report: want @token_hash and @success.', 1;

    SELECT
        @target_execution_id = c.target_execution_id,
        @attempt = c.attempt
    FROM jobs_internal.callbacks AS c
    INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = c.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE c.token_hash = @token_hash
        AND c.token_hash IS NOT NULL
        AND j.deleted_at IS NULL;
    IF @target_execution_id IS NULL
        THROW 50135, N'The callback does not exist.', 1;
    EXECUTE jobs_internal.store_report
        @target_execution_id = @target_execution_id,
        @attempt = @attempt,
        @success = @success,
        @message = @message,
        @by = @by,
        @now = @now;
    RETURN 0;
END;
