-- Adds a calendar, or changes one: the writer behind jobs.sp_add_calendar and jobs.sp_update_calendar.
--
-- Parameters:
--   @mode           Add: the calendar is new. Update: it exists.
--   @calendar_name  Name of the calendar.
--   @spec           JSON object; see jobs.sp_add_calendar.
-- Called by: jobs.sp_add_calendar, jobs.sp_update_calendar. It has the transaction.
-- Locks:     the calendar's row, or the range of its name (U, X), the schedules that name it (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_calendar
    @mode          NVARCHAR(10),
    @calendar_name NVARCHAR(129),
    @spec          NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @created_at DATETIME2(7);
    DECLARE @action NVARCHAR(128) = CASE WHEN @mode = N'Add' THEN N'sp_add_calendar' ELSE N'sp_update_calendar' END;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@calendar_name) > 256
        THROW 50097, N'Invalid @calendar_name: want at most 128 characters, not 129 or more.', 1;
    IF @calendar_name IS NULL OR LTRIM(@calendar_name) = N''
        THROW 50053, N'Missing calendar name: @calendar_name is NULL or empty.', 1;
    IF @mode = N'Add'
        EXECUTE jobs_internal.check_name @name = @calendar_name, @parameter = N'@calendar_name';
    IF @spec IS NULL OR ISJSON(@spec) = 0 OR LEFT(LTRIM(@spec), 1) <> N'{'
        THROW 50054, N'Invalid @spec: want a JSON object, such as {"dates": ["2026-12-24"]}.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- created_at is in no other index, so the lock is on the clustered key.
    SELECT @created_at = c.created_at
    FROM jobs_internal.calendars AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @calendar_name;
    IF @mode = N'Add' AND @created_at IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A calendar named ''', @calendar_name, N''' exists already. Choose another name, or change it with jobs.sp_update_calendar.'
        ), N'%', N'%%');
        THROW 50130, @message, 1;
    END;
    IF @mode = N'Update' AND @created_at IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The calendar ''', @calendar_name, N''' does not exist. The view jobs.calendars lists all calendars.'
        ), N'%', N'%%');
        THROW 50129, @message, 1;
    END;
    IF @mode = N'Update'
        EXECUTE jobs_internal.state_of_calendar @calendar_name = @calendar_name, @state = @audit_before OUTPUT;

    IF @mode = N'Add'
        INSERT INTO jobs_internal.calendars (name, spec, created_at, updated_at)
        VALUES (@calendar_name, @spec, @now, @now);
    ELSE
        UPDATE c
        SET c.spec = @spec,
            c.updated_at = @now
        FROM jobs_internal.calendars AS c
        WHERE c.name = @calendar_name;
    EXECUTE jobs_internal.recheck_calendar @calendar_name = @calendar_name;

    EXECUTE jobs_internal.state_of_calendar @calendar_name = @calendar_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = @action,
        @object_kind = N'Calendar',
        @object_name = @calendar_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
