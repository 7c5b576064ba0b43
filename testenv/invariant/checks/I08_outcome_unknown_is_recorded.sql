-- I8: a target that has not succeeded has outcome_unknown = 1 if its latest attempt ended as
-- Unknown. Attempts with the outcome Returned do not count, because nothing was sent. A target has
-- outcome_unknown = 1 only if one of its attempts ended as Unknown; a later attempt that did not
-- reach the target keeps the value.
SELECT CONCAT(
    N'target execution ', t.target_execution_id, N' (', t.lifecycle, N') has outcome_unknown = ', t.outcome_unknown,
    N', and its latest attempt ended as ', a.outcome
) AS detail
FROM jobs_internal.target_executions AS t
INNER JOIN (
    SELECT k.target_execution_id, MAX(k.task_id) AS task_id
    FROM jobs_internal.task_executions AS k
    WHERE k.kind = N'Run'
        AND k.ended_at IS NOT NULL
        AND k.outcome <> N'Returned'
    GROUP BY k.target_execution_id
) AS l ON l.target_execution_id = t.target_execution_id
INNER JOIN jobs_internal.task_executions AS a ON a.task_id = l.task_id
WHERE (a.outcome = N'Unknown' AND t.outcome_unknown = 0 AND t.lifecycle <> N'Succeeded')
    OR (t.outcome_unknown = 1 AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.task_executions AS k
        WHERE k.execution_id = t.execution_id -- execution_id has an index
            AND k.target_execution_id = t.target_execution_id
            AND k.outcome = N'Unknown'
    ));
