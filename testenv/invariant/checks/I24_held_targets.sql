-- I24: what holds a target is known, and ends by itself or by a person; a held target has a deadline, and no agent has it.
SELECT CONCAT(N'target execution ', t.target_execution_id, N' waits for ', COALESCE(CAST(t.held_by AS NVARCHAR(20)), N'nothing'),
    N', which does not exist, or without end') AS detail
FROM jobs_internal.target_executions AS t
WHERE t.next_attempt_at >= '9999-12-31'
    AND (
        t.deadline_at IS NULL
        OR t.lifecycle NOT IN (N'Created', N'WaitingForRetry')
        OR NOT EXISTS (SELECT 1 FROM jobs_internal.target_holds AS h WHERE h.target_execution_id = t.target_execution_id)
    )
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is due and held by ', t.held_by)
FROM jobs_internal.target_executions AS t
WHERE t.next_attempt_at < '9999-12-31'
    AND t.held_by IS NOT NULL;
