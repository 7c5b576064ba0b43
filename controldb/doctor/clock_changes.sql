-- The enabled schedules with warnings, of which some are about changes of clocks.
SELECT TOP (10000) s.job_name, s.schedule_name, s.kind, s.spec, s.time_zone, s.defined_time
FROM jobs.schedules AS s
WHERE s.state = N'Enabled'
    AND s.warnings IS NOT NULL
    AND s.spec IS NOT NULL
ORDER BY s.job_name, s.schedule_name;
