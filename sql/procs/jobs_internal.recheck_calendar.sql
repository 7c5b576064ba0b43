-- Requests a new validation of the schedules that use a calendar. They keep their due instants until then. An agent may be validating one
-- of them at this moment, with the calendar as it was: those that agents list already get another revision, so that its result is late.
--
-- Parameters:
--   @calendar_name  Name of the calendar.
-- Called by: jobs.sp_add_calendar, jobs.sp_update_calendar.
-- Locks:     the schedules that name it (U, X), in the order of their keys.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.recheck_calendar
    @calendar_name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @wanted TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked INT;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();

    -- The rows are locked in the order of their keys, and only those that name the calendar.
    INSERT INTO @wanted (schedule_id)
    SELECT s.schedule_id
    FROM jobs_internal.schedules AS s
    WHERE s.spec LIKE N'%blackouts%'
        AND (
            JSON_VALUE(CASE WHEN ISJSON(s.spec) = 1 THEN s.spec END, '$.blackouts.calendars') = @calendar_name
            OR EXISTS (
                SELECT 1
                FROM OPENJSON(CASE WHEN ISJSON(s.spec) = 1 THEN s.spec END, '$.blackouts.calendars') AS c
                WHERE c.[type] = 1
                    AND c.value = @calendar_name
            )
        );
    SELECT @locked = COUNT(s.revision)
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, ROWLOCK) ON s.schedule_id = w.schedule_id;

    -- Not all of them: an alert of a Faulted schedule is one for its revision.
    UPDATE s
    SET s.revision = CASE WHEN s.awaits_verdict = 1 OR s.recheck_at <= @now THEN s.revision + 1 ELSE s.revision END,
        s.awaits_verdict = 1
    FROM @wanted AS w
    INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = w.schedule_id;
    RETURN 0;
END;
