-- What passes leave out, because the control database refuses what they would store about it.
SELECT TOP (1000)
    v.kind,
    COALESCE(v.job_name, N'(deleted)') AS job_name,
    COALESCE(CAST(v.job_execution_id AS NVARCHAR(36)), N'') AS run,
    COALESCE(v.name, N'') AS name,
    COALESCE(v.error_message, N'') AS error_message
FROM jobs.set_asides AS v
ORDER BY v.since_time, v.job_name;
