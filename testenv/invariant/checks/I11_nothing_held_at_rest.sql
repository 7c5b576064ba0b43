-- I11: at rest no execution is active, no term holds a task, and no callback is open.
SELECT CONCAT(N'job execution ', execution_id, N' is ', lifecycle) AS detail
FROM jobs_internal.job_executions
WHERE is_active = 1
UNION ALL
SELECT CONCAT(N'task ', task_id, N' of term ', term_id, N' has not ended')
FROM jobs_internal.task_executions
WHERE ended_at IS NULL
UNION ALL
SELECT CONCAT(N'the callback of attempt ', attempt, N' of target execution ', target_execution_id, N' is open')
FROM jobs_internal.callbacks
WHERE closed_at IS NULL;
