-- I15: a list of targets that is being written belongs to an active step that is in progress and that
-- no task holds, nobody has begun its targets, and no view shows them. A complete list has
-- no parts left.
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is ', s.lifecycle, N' while its list is being written') AS detail
FROM jobs_internal.step_lists AS l
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = l.step_execution_id
WHERE s.lifecycle <> N'InProgress'
    OR s.resolved_at IS NOT NULL
    OR EXISTS (
        SELECT 1
        FROM jobs_internal.task_executions AS k
        WHERE k.step_execution_id = s.step_execution_id
            AND k.ended_at IS NULL
    )
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is ', t.lifecycle, N' while its list is being written')
FROM jobs_internal.step_lists AS l
INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = l.step_execution_id
WHERE t.lifecycle NOT IN (N'Created', N'Skipped')
    OR t.attempts > 0
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' has targets without a complete list')
FROM jobs_internal.step_executions AS s
WHERE s.resolved_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = s.step_execution_id)
    AND EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id)
UNION ALL
SELECT CONCAT(N'step ', v.step_id, N' of job execution ', CONVERT(NVARCHAR(36), v.job_execution_id), N' shows a list that is being written')
FROM jobs_internal.step_lists AS l
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = l.step_execution_id
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
INNER JOIN jobs.job_executions AS v ON v.job_execution_id = e.job_execution_id
    AND v.step_id = s.step_id
WHERE v.target_type <> N'TargetGroup'
UNION ALL
SELECT CONCAT(N'step execution ', l.step_execution_id, N' has no row')
FROM jobs_internal.step_lists AS l
WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.step_execution_id = l.step_execution_id);
