-- Adds a calendar. A schedule that names it in "blackouts" is not due during the calendar's windows.
--
-- Parameters:
--   @calendar_name  Name; unique.
--   @spec           JSON object with timeZone, and dates, monthDays, weekly or rrule with startTime and duration.
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
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_calendar
        @mode = N'Add',
        @calendar_name = @calendar_name,
        @spec = @spec;
    RETURN 0;
END;
