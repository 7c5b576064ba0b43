-- I11: at rest no execution is active, and no term holds a task.
SELECT CONCAT(N'job execution ', execution_id, N' is ', lifecycle) AS detail
FROM jobs_internal.job_executions
WHERE is_active = 1
UNION ALL
SELECT CONCAT(N'task ', task_id, N' of term ', term_id, N' has not ended')
FROM jobs_internal.task_executions
WHERE ended_at IS NULL;
