-- I8: a target that succeeded has an attempt with the outcome Succeeded, or one whose callback
-- reported a success. An unknown outcome never becomes a success.
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is Succeeded without an attempt that succeeded') AS detail
FROM jobs_internal.target_executions AS t
WHERE t.lifecycle = N'Succeeded'
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.task_executions AS a
        LEFT JOIN jobs_internal.callbacks AS c ON c.target_execution_id = a.target_execution_id AND c.attempt = a.attempt
        WHERE a.execution_id = t.execution_id -- execution_id has an index
            AND a.target_execution_id = t.target_execution_id
            AND ((a.outcome = N'Succeeded' AND c.success IS NULL) OR (c.success = 1 AND c.closed_by = N'Report'))
    );
