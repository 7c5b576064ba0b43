-- Lets an agent read the schedules again that name a calendar. They keep their due instants until it has.
--
-- Parameters:
--   @calendar_name  Which calendar.
-- Called by: jobs.sp_add_calendar, jobs.sp_update_calendar.
-- Locks:     the schedules that name it (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.recheck_calendar
    @calendar_name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    UPDATE s
    SET s.awaits_verdict = 1
    FROM jobs_internal.schedules AS s
    WHERE s.spec LIKE N'%blackouts%'
        AND s.awaits_verdict = 0
        AND (
            JSON_VALUE(CASE WHEN ISJSON(s.spec) = 1 THEN s.spec END, '$.blackouts.calendars') = @calendar_name
            OR EXISTS (
                SELECT 1
                FROM OPENJSON(CASE WHEN ISJSON(s.spec) = 1 THEN s.spec END, '$.blackouts.calendars') AS c
                WHERE c.[type] = 1
                    AND c.value = @calendar_name
            )
        );
    RETURN 0;
END;
