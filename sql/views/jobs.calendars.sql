-- Calendars: windows of time in which schedules that name them are not due.
--
-- Columns:
--   calendar_name  Name; unique.
--   spec           JSON object.
--   created_time   When it was added (UTC).
--   updated_time   When it was changed (UTC).
CREATE OR ALTER VIEW jobs.calendars
AS
SELECT
    c.name AS calendar_name,
    c.spec,
    c.created_at AS created_time,
    c.updated_at AS updated_time
FROM jobs_internal.calendars AS c;
