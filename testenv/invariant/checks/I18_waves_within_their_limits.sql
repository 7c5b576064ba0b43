-- I18: no more targets of a wave run at once than its plan permits, and none is claimed after more have failed than may. With strict,
-- those that run and those that failed are never more than may fail, and one.
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N': ', c.running, N' targets run, ', w.max_parallelism, N' may') AS detail
FROM jobs_internal.rollout_waves AS w
CROSS APPLY (
    SELECT COUNT(*) AS running
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = e.execution_id
    WHERE e.rollout_of = w.execution_id
        AND e.rollout_wave = w.wave
        AND e.rollout_probe = 0
        AND k.ended_at IS NULL
        AND k.kind = N'Run'
) AS c
WHERE c.running > w.max_parallelism
UNION ALL
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N': ', c.running, N' targets run and ', f.failed, N' failed, ', w.max_failed, N' may')
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
CROSS APPLY (
    SELECT COUNT(*) AS running
    FROM jobs_internal.task_executions AS k
    WHERE k.execution_id = w.run_id
        AND k.ended_at IS NULL
        AND k.kind = N'Run'
) AS c
CROSS APPLY (
    SELECT COUNT(*) AS failed
    FROM jobs_internal.target_executions AS t
    WHERE t.execution_id = w.run_id
        AND t.lifecycle IN (N'Failed', N'TimedOut')
) AS f
WHERE r.is_strict = 1
    AND c.running + f.failed > w.max_failed + 1
UNION ALL
SELECT CONCAT(N'task ', k.task_id, N' of wave ', w.wave, N' of roll-out ', w.execution_id, N' was claimed after ', w.max_failed, N' targets had failed, as many as may')
FROM jobs_internal.rollout_waves AS w
INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = w.run_id
WHERE k.kind = N'Run'
    AND k.claimed_at > (
        SELECT f.end_time
        FROM (
            SELECT t.end_time, ROW_NUMBER() OVER (ORDER BY t.end_time) AS turn
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = w.run_id
                AND t.lifecycle IN (N'Failed', N'TimedOut')
        ) AS f
        WHERE f.turn = w.max_failed + 1
    );
