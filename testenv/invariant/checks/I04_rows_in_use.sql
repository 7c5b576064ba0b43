-- I4: a row of an active execution has one holder: a task, a claim that is to come, or advance. The
-- order of locks (sql/DESIGN.md) rests on it: procedures that lock rows of the same tables do not
-- meet in a row.
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is InProgress, and no task holds it') AS detail
FROM jobs_internal.target_executions AS t
WHERE t.lifecycle = N'InProgress'
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.task_executions AS k
        WHERE k.target_execution_id = t.target_execution_id
            AND k.ended_at IS NULL
    )
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is ', t.lifecycle, N' and held by task ', k.task_id)
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
WHERE k.ended_at IS NULL
    AND (t.lifecycle <> N'InProgress' OR t.next_attempt_at IS NOT NULL)
UNION ALL
SELECT CONCAT(N'step execution ', k.step_execution_id, N' is held by ', COUNT(*), N' resolutions')
FROM jobs_internal.task_executions AS k
WHERE k.ended_at IS NULL
    AND k.kind = N'Resolve'
GROUP BY k.step_execution_id
HAVING COUNT(*) > 1
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is ', s.lifecycle, N' and held by resolution ', k.task_id)
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
WHERE k.ended_at IS NULL
    AND k.kind = N'Resolve'
    AND (s.lifecycle <> N'InProgress'
        OR s.next_attempt_at IS NOT NULL
        OR EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id))
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' waits for a resolution and has targets')
FROM jobs_internal.step_executions AS s
WHERE s.next_attempt_at IS NOT NULL
    AND EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id)
UNION ALL
SELECT CONCAT(N'task ', k.task_id, N' is held, and job execution ', k.execution_id, N' has ended')
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
WHERE k.ended_at IS NULL
    AND (e.is_active = 0 OR e.purged_at IS NOT NULL)
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is active, and its run has ended')
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
WHERE s.is_active = 1
    AND e.is_active = 0;
