-- The enabled schedules whose parameters do not fit those that their jobs declare.
SELECT TOP (10000) s.job_name, s.schedule_name, s.parameters_fault
FROM jobs.schedules AS s
WHERE s.state = N'Enabled'
    AND s.parameters_fault IS NOT NULL
ORDER BY s.job_name, s.schedule_name;
