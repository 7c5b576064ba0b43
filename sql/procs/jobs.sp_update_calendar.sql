-- Changes a calendar. An agent then validates the schedules that use it again.
--
-- Parameters:
--   @calendar_name  Name of the calendar.
--   @spec           JSON object with timeZone, and dates, weekly or rrule with startTime and duration.
-- Called by: members of the role jobs_author.
-- Locks:     the calendar's row (X), the schedules that name it (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50053 the calendar name is missing or empty.
--   50054 the calendar text is not a JSON object.
--   50097 a text is longer than its limit.
--   50129 the calendar does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_update_calendar
    @calendar_name NVARCHAR(129),
    @spec          NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @created_at DATETIME2(7);

    IF DATALENGTH(@calendar_name) > 256
        THROW 50097, N'Invalid @calendar_name: want at most 128 characters, not 129 or more.', 1;

    IF @calendar_name IS NULL OR LTRIM(@calendar_name) = N''
        THROW 50053, N'Missing calendar name: @calendar_name is NULL or empty.', 1;
    IF @spec IS NULL OR ISJSON(@spec) = 0 OR LEFT(LTRIM(@spec), 1) <> N'{'
        THROW 50054, N'Invalid @spec: want a JSON object, such as {"dates": ["2026-12-24"]}.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- created_at is in no other index, so the lock is on the clustered key.
    SELECT @created_at = c.created_at
    FROM jobs_internal.calendars AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @calendar_name;
    EXECUTE jobs_internal.state_of_calendar @calendar_name = @calendar_name, @state = @audit_before OUTPUT;
    UPDATE c
    SET c.spec = @spec,
        c.updated_at = @now
    FROM jobs_internal.calendars AS c
    WHERE c.name = @calendar_name;
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' does not exist. The view jobs.calendars lists all calendars.'
        ), N'%', N'%%');
        THROW 50129, @message, 1;
    END;
    EXECUTE jobs_internal.recheck_calendar @calendar_name = @calendar_name;

    EXECUTE jobs_internal.state_of_calendar @calendar_name = @calendar_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_update_calendar',
        @object_kind = N'Calendar',
        @object_name = @calendar_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
