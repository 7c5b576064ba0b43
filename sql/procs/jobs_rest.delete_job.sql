-- Deletes a job of the SAP surface with its schedules, logs and action log (E7, S-43). Its active runs are canceled.
--
-- Parameters:
--   @tenant   The tenant; NULL: the provider.
--   @job      The _id, which is not used again.
--   @by       Who does it; cut to 128 characters.
--   @request  See jobs_internal.begin_rest_request.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the job (U, X), its schedules (U, X), its active runs (X).
-- Audit:     jobs_internal.delete_rest_job calls jobs.sp_delete_job, which writes the entry.
-- Returns:   one row: result (JSON object: job), replayed, answer.
-- Throws:
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.delete_job
    @tenant  NVARCHAR(129),
    @job     BIGINT,
    @by      NVARCHAR(MAX) = NULL,
    @request BINARY(32) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @replayed BIT, @result NVARCHAR(MAX), @answer NVARCHAR(MAX);
    DECLARE @job_id UNIQUEIDENTIFIER;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.begin_rest_request
        @request = @request,
        @now = @now,
        @replayed = @replayed OUTPUT,
        @result = @result OUTPUT,
        @answer = @answer OUTPUT;
    IF @replayed = 0
    BEGIN
        EXECUTE jobs_internal.lock_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
        EXECUTE jobs_internal.delete_rest_job @job = @job, @job_id = @job_id;
        SET @result = CONCAT(N'{"job":', @job, N'}');
        EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;
    END;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
