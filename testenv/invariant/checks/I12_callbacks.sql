-- I12: a target waits for exactly one callback, that of its latest attempt, and nobody holds it. An
-- open callback belongs to a running attempt or to a target that waits. A report has ended its
-- callback, or is about to. What is parked has only targets that wait.
SELECT CONCAT(N'target execution ', t.target_execution_id, N' waits for a callback, and none is open') AS detail
FROM jobs_internal.target_executions AS t
WHERE t.lifecycle = N'WaitingForCallback'
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.callbacks AS c
        WHERE c.target_execution_id = t.target_execution_id
            AND c.attempt = t.attempts
            AND c.deadline_at IS NOT NULL
            AND c.closed_at IS NULL
    )
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' waits for a callback, and the term ', k.term_id, N' holds it')
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
WHERE t.lifecycle = N'WaitingForCallback'
    AND k.ended_at IS NULL
UNION ALL
SELECT CONCAT(
    N'the callback of attempt ', c.attempt, N' of target execution ', c.target_execution_id, N' (', t.lifecycle, N') is open'
)
FROM jobs_internal.callbacks AS c
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = c.target_execution_id
INNER JOIN jobs_internal.task_executions AS k ON k.task_id = c.task_id
WHERE c.closed_at IS NULL
    AND NOT (c.deadline_at IS NOT NULL AND t.lifecycle = N'WaitingForCallback' AND t.attempts = c.attempt)
    AND NOT (c.deadline_at IS NULL AND k.ended_at IS NULL)
UNION ALL
SELECT CONCAT(
    N'the callback of attempt ', c.attempt, N' of target execution ', c.target_execution_id, N' was closed by ', c.closed_by,
    N', and it has ', CASE WHEN c.success IS NULL THEN N'no' ELSE N'a' END, N' report'
)
FROM jobs_internal.callbacks AS c
WHERE c.closed_at IS NOT NULL
    AND CASE WHEN c.closed_by = N'Report' THEN 1 ELSE 0 END <> CASE WHEN c.success IS NULL THEN 0 ELSE 1 END
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N' is parked, and target execution ', t.target_execution_id, N' is ', t.lifecycle)
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = s.step_execution_id
WHERE s.parked = 1
    AND t.is_active = 1
    AND t.lifecycle <> N'WaitingForCallback'
UNION ALL
SELECT CONCAT(N'job execution ', e.execution_id, N' is parked, and ', COALESCE(N'was stopped by ' + e.stop_requested_by, N'has no active step'))
FROM jobs_internal.job_executions AS e
WHERE e.parked = 1
    AND (
        e.stop_requested_at IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.execution_id = e.execution_id AND s.is_active = 1)
    )
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.rollouts AS r WHERE r.execution_id = e.execution_id AND r.ended_at IS NULL);
