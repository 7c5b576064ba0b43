-- I6: a parent that has ended has no active child, and its lifecycle is not better than that of its
-- worst child, apart from failures that the step tolerates. A successful run has a step execution for each step.
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is ', s.lifecycle, N', target execution ', t.target_execution_id, N' is ', t.lifecycle) AS detail
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
WHERE s.is_active = 0
    AND (t.is_active = 1
        OR (s.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') AND t.lifecycle IN (N'Failed', N'TimedOut') AND s.tolerated IS NULL)
        OR (s.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') AND t.lifecycle = N'Canceled')
        OR (s.lifecycle = N'Succeeded' AND t.lifecycle = N'Skipped'))
UNION ALL
SELECT CONCAT(N'job execution ', e.execution_id, N' is ', e.lifecycle, N', its step ', s.step_id, N' is ', s.lifecycle)
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
WHERE e.is_active = 0
    AND (s.is_active = 1
        OR (e.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') AND s.lifecycle IN (N'Failed', N'TimedOut', N'Canceled')))
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is ', s.lifecycle, N', tolerates ', s.tolerated, N' failures and has others')
FROM jobs_internal.step_executions AS s
WHERE s.tolerated IS NOT NULL
    AND (s.lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped') OR s.tolerated <> (
        SELECT COUNT(*)
        FROM jobs_internal.target_executions AS t
        WHERE t.step_execution_id = s.step_execution_id
            AND t.lifecycle IN (N'Failed', N'TimedOut')
    ))
UNION ALL
SELECT CONCAT(N'job execution ', e.execution_id, N' succeeded with ', COUNT(s.step_id), N' of its steps run')
FROM jobs_internal.job_executions AS e
LEFT JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
WHERE e.lifecycle IN (N'Succeeded', N'SucceededWithSkipped')
GROUP BY e.execution_id, e.job_id, e.job_version
HAVING COUNT(s.step_id) <> (
    SELECT COUNT(*)
    FROM jobs_internal.job_steps AS j
    WHERE j.job_id = e.job_id
        AND j.version = e.job_version
);
