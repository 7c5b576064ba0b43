-- I4: a target execution has at most one final outcome and at most one held task, and each attempt
-- number occurs once.
SELECT CONCAT(N'target execution ', target_execution_id, N' has ', COUNT(*), N' final outcomes') AS detail
FROM jobs_internal.task_executions
WHERE target_execution_id IS NOT NULL
    AND outcome IN (N'Succeeded', N'TimedOut', N'Canceled')
GROUP BY target_execution_id
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
