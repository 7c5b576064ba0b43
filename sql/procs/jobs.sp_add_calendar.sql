-- Adds a calendar. A schedule that names it in "blackouts" is not due during the calendar's windows.
--
-- Parameters:
--   @calendar_name  Name; unique.
--   @spec           JSON object with timeZone, and dates, weekly or rrule with startTime and duration.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in calendars (U), the schedules that name it (X); an insert into
--            audit_entries.
-- Returns:   0.
-- Throws:
--   50053 the calendar name is missing or empty.
--   50054 the calendar text is not a JSON object.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50130 a calendar of this name exists already.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_calendar
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
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@calendar_name) > 256
        THROW 50097, N'Invalid @calendar_name: want at most 128 characters, not 129 or more.', 1;

    IF @calendar_name IS NULL OR LTRIM(@calendar_name) = N''
        THROW 50053, N'Missing calendar name: @calendar_name is NULL or empty.', 1;
    EXECUTE jobs_internal.check_name @name = @calendar_name, @parameter = N'@calendar_name';
    IF @spec IS NULL OR ISJSON(@spec) = 0 OR LEFT(LTRIM(@spec), 1) <> N'{'
        THROW 50054, N'Invalid @spec: want a JSON object, such as {"dates": ["2026-12-24"]}.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    IF EXISTS (SELECT 1 FROM jobs_internal.calendars AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.name = @calendar_name)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A calendar named ''', @calendar_name, N''' exists already. Choose another name, or change it with jobs.sp_update_calendar.'
        ), N'%', N'%%');
        THROW 50130, @message, 1;
    END;
    INSERT INTO jobs_internal.calendars (name, spec, created_at, updated_at)
    VALUES (@calendar_name, @spec, @now, @now);
    EXECUTE jobs_internal.recheck_calendar @calendar_name = @calendar_name;

    EXECUTE jobs_internal.state_of_calendar @calendar_name = @calendar_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_calendar',
        @object_kind = N'Calendar',
        @object_name = @calendar_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
