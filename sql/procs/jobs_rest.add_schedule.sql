-- Adds a schedule to a job of the SAP surface (E8).
--
-- Parameters:
--   @tenant    The tenant; NULL: the provider.
--   @job       The job's _id.
--   @schedule  JSON object, as in jobs_internal.add_rest_schedule.
--   @by        Who does it; cut to 128 characters.
--   @request   See jobs_internal.begin_rest_request.
--   @note      Text of the entry in the action log.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the job (U), the stored parameters (S); inserts into schedules and rest_schedules.
-- Returns:   one row: result (JSON object: job, schedules), replayed, answer.
-- Throws:
--   50090 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.add_schedule
    @tenant   NVARCHAR(129),
    @job      BIGINT,
    @schedule NVARCHAR(MAX),
    @by       NVARCHAR(MAX) = NULL,
    @request  BINARY(32) = NULL,
    @note     NVARCHAR(1001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @replayed BIT, @result NVARCHAR(MAX), @answer NVARCHAR(MAX);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @before NVARCHAR(MAX);
    DECLARE @id UNIQUEIDENTIFIER;
    DECLARE @data NVARCHAR(MAX);
    DECLARE @payload_id BIGINT;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @schedule IS NULL OR ISJSON(@schedule) = 0
        THROW 50090, N'Invalid @schedule: want a JSON object.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.begin_rest_request
        @request = @request,
        @now = @now,
        @makes = N'schedule',
        @replayed = @replayed OUTPUT,
        @result = @result OUTPUT,
        @answer = @answer OUTPUT;
    IF @replayed = 0
    BEGIN
        EXECUTE jobs_internal.lock_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT, @state = @before OUTPUT;
        SELECT @data = g.data
        FROM OPENJSON(@schedule) WITH (data NVARCHAR(MAX)) AS g;
        EXECUTE jobs_internal.store_rest_data @data = @data, @payload_id = @payload_id OUTPUT;
        EXECUTE jobs_internal.add_rest_schedule
            @job = @job,
            @schedule = @schedule,
            @payload_id = @payload_id,
            @now = @now,
            @id = @id OUTPUT;
        EXECUTE jobs_internal.log_rest_action
            @job = @job,
            @schedule = @id,
            @action = N'CREATE',
            @by = @by,
            @text = @note,
            @procedure = N'jobs_rest.add_schedule',
            @before = @before,
            @now = @now;
        SET @result = CONCAT(N'{"job":', @job, N',"schedules":["', CAST(@id AS NVARCHAR(36)), N'"]}');
        EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;
    END;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
