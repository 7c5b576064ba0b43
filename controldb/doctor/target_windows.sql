-- The windows of databases with their calendars.
SELECT TOP (1000) w.window_name, w.time_zone, c.spec AS calendar, b.spec AS blackouts
FROM jobs.target_windows AS w
LEFT JOIN jobs.calendars AS c ON c.calendar_name = w.calendar_name
LEFT JOIN jobs.calendars AS b ON b.calendar_name = w.blackouts
ORDER BY w.window_name;
