-- I15: a step whose targets are being counted is active, none of its targets is, and no more targets were counted than it has.
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is ', s.lifecycle, N' while its targets are being counted') AS detail
FROM jobs_internal.step_counts AS c
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = c.step_execution_id
WHERE s.lifecycle <> N'WaitingForChildJobExecutions'
    OR s.targets IS NULL
    OR c.targets > s.targets
    OR c.targets <> c.succeeded + c.failed + c.timed_out + c.canceled + c.skipped
    OR EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id AND t.is_active = 1)
UNION ALL
SELECT CONCAT(N'step execution ', c.step_execution_id, N' has no row')
FROM jobs_internal.step_counts AS c
WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.step_execution_id = c.step_execution_id)
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' has ', COUNT(*), N' targets, and the number ', MAX(s.targets))
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
WHERE s.targets IS NOT NULL
    AND e.purged_at IS NULL -- otherwise they are being deleted
    AND j.deleted_at IS NULL
GROUP BY s.step_execution_id
HAVING COUNT(*) <> MAX(s.targets);
