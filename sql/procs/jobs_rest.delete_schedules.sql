-- Deletes a schedule of a job of the SAP surface, or all of them, with their logs (E12, E13, S-43). Their active runs are canceled.
--
-- Parameters:
--   @tenant    The tenant; NULL: the provider.
--   @job       The job's _id.
--   @schedule  The schedule's id; NULL: all schedules of the job.
--   @by        Who does it; cut to 128 characters.
--   @request   See jobs_internal.begin_rest_request.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the job (U), the schedules (U, X), their active runs (X).
-- Returns:   one row: result (JSON object: job), replayed, answer.
-- Throws:
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50173 the job has no such schedule.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.delete_schedules
    @tenant   NVARCHAR(129),
    @job      BIGINT,
    @schedule UNIQUEIDENTIFIER = NULL,
    @by       NVARCHAR(MAX) = NULL,
    @request  BINARY(32) = NULL
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
    DECLARE @schedule_id BIGINT;
    DECLARE @doomed NVARCHAR(MAX);

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
        EXECUTE jobs_internal.lock_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT, @state = @before OUTPUT;
        EXECUTE jobs_internal.read_rest_switches @job = @job;
        IF @schedule IS NOT NULL
            EXECUTE jobs_internal.find_rest_schedule @job_id = @job_id, @schedule = @schedule, @schedule_id = @schedule_id OUTPUT;
        SET @doomed = (
            SELECT CONCAT(N'[', STRING_AGG(CAST(s.schedule_id AS NVARCHAR(MAX)), N','), N']')
            FROM jobs_internal.schedules AS s
            WHERE s.job_id = @job_id
                AND s.next_run_id IS NOT NULL
                AND s.schedule_id = COALESCE(@schedule_id, s.schedule_id)
        );
        EXECUTE jobs_internal.delete_rest_schedules @schedules = @doomed, @now = @now;
        EXECUTE jobs_internal.log_rest_action
            @job = @job,
            @schedule = @schedule,
            @action = N'DELETE',
            @by = @by,
            @procedure = N'jobs_rest.delete_schedules',
            @before = @before,
            @now = @now;
        SET @result = CONCAT(N'{"job":', @job, N'}');
        EXECUTE jobs_internal.stop_rest_runs @schedules = @doomed, @by = @by, @now = @now;
        EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;
    END;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
