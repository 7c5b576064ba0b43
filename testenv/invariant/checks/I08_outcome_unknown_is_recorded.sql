-- I8: a target that has not succeeded has outcome_unknown = 1 if its latest attempt ended as
-- Unknown without a report, or waited for a report until its deadline or a stop. Attempts with the
-- outcome Returned do not count, because nothing was sent. A target has outcome_unknown = 1 only if
-- one of its attempts ended so, or as TimedOut, which does not tell whether the script has ended; a
-- later attempt that did not reach the target keeps the value.
SELECT CONCAT(
    N'target execution ', t.target_execution_id, N' (', t.lifecycle, N') has outcome_unknown = ', t.outcome_unknown,
    N', and its latest attempt ended as ', a.outcome, N', and its callback by ' + c.closed_by
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
LEFT JOIN jobs_internal.callbacks AS c ON c.target_execution_id = a.target_execution_id AND c.attempt = a.attempt
WHERE (a.outcome = N'Unknown' AND c.success IS NULL AND t.outcome_unknown = 0 AND t.lifecycle <> N'Succeeded')
    OR (c.closed_by IN (N'Deadline', N'Stop') AND t.outcome_unknown = 0)
    OR (t.outcome_unknown = 1
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.task_executions AS k
            WHERE k.execution_id = t.execution_id -- execution_id has an index
                AND k.target_execution_id = t.target_execution_id
                AND k.outcome IN (N'Unknown', N'TimedOut')
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.callbacks AS d
            WHERE d.target_execution_id = t.target_execution_id
                AND d.closed_by IN (N'Deadline', N'Stop')
        ));
