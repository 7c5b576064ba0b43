-- Sets how long runs of actions wait for a report (E19, S-44). It holds for waits that begin afterwards.
--
-- Parameters:
--   @tenant   The tenant; the setting is that of the instance.
--   @seconds  1 to 604800.
--   @by       Who does it; cut to 128 characters.
--   @request  See jobs_internal.begin_rest_request.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the setting's row (X).
-- Returns:   one row: result (JSON object), replayed, answer.
-- Throws:
--   50092 the time-out is out of range.
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.set_timeout
    @tenant  NVARCHAR(129),
    @seconds INT,
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

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @seconds IS NULL OR @seconds NOT BETWEEN 1 AND 604800
        THROW 50092, N'Invalid time-out: want 1 to 604800 seconds.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.begin_rest_request
        @request = @request,
        @now = @now,
        @replayed = @replayed OUTPUT,
        @result = @result OUTPUT,
        @answer = @answer OUTPUT;
    IF @replayed = 0
    BEGIN
        EXECUTE jobs.sp_set_setting @name = N'async_exec_timeout_seconds', @value = @seconds;
        SET @result = N'{}';
        EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;
    END;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
