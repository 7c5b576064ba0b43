-- Calendars. A schedule that names a calendar is not due during the calendar's windows.
--
-- Columns:
--   calendar_name  Name; unique.
--   spec           JSON object.
--   created_time   When the calendar was added (UTC).
--   updated_time   When the calendar was changed (UTC).
CREATE OR ALTER VIEW jobs.calendars
AS
SELECT
    c.name AS calendar_name,
    c.spec,
    c.created_at AS created_time,
    c.updated_at AS updated_time
FROM jobs_internal.calendars AS c;
