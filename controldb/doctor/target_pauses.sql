-- The databases that have been paused for 30 days, and whose pauses do not end by themselves.
SELECT TOP (1000) p.server_name, p.database_name, p.paused_time, p.paused_by
FROM jobs.target_pauses AS p
WHERE p.end_time IS NULL
    AND p.paused_time < DATEADD(DAY, -30, SYSUTCDATETIME())
ORDER BY p.paused_time, p.server_name, p.database_name;
