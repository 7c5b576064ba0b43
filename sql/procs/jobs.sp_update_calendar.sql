-- Changes a calendar. An agent then validates the schedules that use it again.
--
-- Parameters:
--   @calendar_name  Name of the calendar.
--   @spec           JSON object with timeZone, and dates, monthDays, weekly or rrule with startTime and duration.
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
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_calendar
        @mode = N'Update',
        @calendar_name = @calendar_name,
        @spec = @spec;
    RETURN 0;
END;
