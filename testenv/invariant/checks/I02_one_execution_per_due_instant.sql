-- I2: an occurrence of a schedule has at most one execution.
SELECT CONCAT(N'schedule ', schedule_id, N' due at ', CONVERT(NVARCHAR(30), due_at, 126), N' has ', COUNT(*), N' executions') AS detail
FROM jobs_internal.job_executions
WHERE schedule_id IS NOT NULL
GROUP BY schedule_id, due_at
HAVING COUNT(*) > 1;
