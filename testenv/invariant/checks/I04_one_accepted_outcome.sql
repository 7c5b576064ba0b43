-- I4: a target execution has at most one final outcome and at most one held task, and each attempt
-- number occurs once. A report decides on its attempt, whatever the attempt's outcome is.
SELECT CONCAT(N'target execution ', k.target_execution_id, N' has ', COUNT(*), N' final outcomes') AS detail
FROM jobs_internal.task_executions AS k
LEFT JOIN jobs_internal.callbacks AS c ON c.target_execution_id = k.target_execution_id AND c.attempt = k.attempt
WHERE k.target_execution_id IS NOT NULL
    AND (
        (k.outcome IN (N'Succeeded', N'TimedOut', N'Canceled') AND c.success IS NULL)
        OR (k.outcome <> N'Returned' AND (c.success = 1 OR c.closed_by IN (N'Deadline', N'Stop')))
    )
GROUP BY k.target_execution_id
HAVING COUNT(*) > 1
UNION ALL
SELECT CONCAT(N'target execution ', target_execution_id, N' has attempt ', attempt, N' ', COUNT(*), N' times')
FROM jobs_internal.task_executions
WHERE target_execution_id IS NOT NULL
    AND (outcome IS NULL OR outcome <> N'Returned')
GROUP BY target_execution_id, attempt
HAVING COUNT(*) > 1
UNION ALL
SELECT CONCAT(N'target execution ', target_execution_id, N' is held ', COUNT(*), N' times')
FROM jobs_internal.task_executions
WHERE target_execution_id IS NOT NULL
    AND ended_at IS NULL
GROUP BY target_execution_id
HAVING COUNT(*) > 1;
