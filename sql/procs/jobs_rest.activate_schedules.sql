-- Activates or deactivates all schedules of a job of the SAP surface (E14). The activation of a one-time schedule that has run computes it
-- anew: a time that has passed runs at once, unless its end has passed, too (S-47).
--
-- Parameters:
--   @tenant   The tenant; NULL: the provider.
--   @job      The job's _id.
--   @active   1: activate them.
--   @by       Who does it; cut to 128 characters.
--   @request  See jobs_internal.begin_rest_request.
-- Called by: members of the role jobs_author.
-- Locks:     the request (U, X), the job (U), its schedules (U, X).
-- Returns:   one row: result (JSON object: job), replayed, answer.
-- Throws:
--   50090 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50172 the job does not exist in the tenant.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_rest.activate_schedules
    @tenant  NVARCHAR(129),
    @job     BIGINT,
    @active  BIT,
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
    DECLARE @before NVARCHAR(MAX);
    DECLARE @job_active BIT;
    DECLARE @log NVARCHAR(40);
    DECLARE @schedules TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    SET @by = LEFT(@by, 128); -- the length of columns for callers

    IF @active IS NULL
        THROW 50090, N'Missing @active: want 1 or 0.', 1;

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
        SET @job_active = (SELECT r.active FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @job);
        EXECUTE jobs_internal.read_rest_switches @job = @job;
        INSERT INTO @schedules (schedule_id)
        SELECT s.schedule_id
        FROM jobs_internal.schedules AS s
        WHERE s.job_id = @job_id
            AND s.next_run_id IS NOT NULL;
        UPDATE x
        SET x.active = @active
        FROM @schedules AS w
        INNER LOOP JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = w.schedule_id;
        IF @active = 1 AND @job_active = 1
            -- Those that have ended begin anew. They are Disabled until they are restarted below.
            UPDATE s
            SET s.state = N'Disabled',
                s.closed_at = NULL,
                s.enabled = 0,
                s.next_due_at = NULL,
                s.next_fire_at = NULL,
                -- An instant has one run, so "now" is after the instants that were handled in this second.
                s.defined_at = CASE
                    WHEN x.mode <> N'time' THEN s.defined_at
                    WHEN DATEADD(SECOND, 1, s.last_due_at) > @now THEN DATEADD(SECOND, 1, s.last_due_at)
                    ELSE @now
                END,
                s.counted_from = CASE WHEN x.mode = N'time' THEN s.executions ELSE s.counted_from END,
                s.last_due_at = CASE WHEN x.mode = N'time' THEN NULL ELSE s.last_due_at END,
                s.revision = s.revision + 1
            FROM @schedules AS w
            INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = w.schedule_id
            INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
            WHERE s.state IN (N'Completed', N'Faulted');
        EXECUTE jobs_internal.apply_rest_job @job = @job, @job_id = @job_id, @now = @now;
        SET @log = CASE WHEN @active = 1 THEN N'ACTIVATE' ELSE N'DEACTIVATE' END;
        EXECUTE jobs_internal.log_rest_action
            @job = @job,
            @action = @log,
            @by = @by,
            @text = N'all schedules',
            @procedure = N'jobs_rest.activate_schedules',
            @before = @before,
            @now = @now;
        SET @result = CONCAT(N'{"job":', @job, N'}');
        EXECUTE jobs_internal.end_rest_request @request = @request, @result = @result;
    END;

    COMMIT TRANSACTION;
    SELECT @result AS result, @replayed AS replayed, @answer AS answer;
    RETURN 0;
END;
