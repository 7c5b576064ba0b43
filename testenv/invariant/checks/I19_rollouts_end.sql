-- I19: a roll-out that has ended starts nothing any more, and the targets on which a wave ran are targets of the wave.
SELECT CONCAT(N'roll-out ', r.execution_id, N' is ', r.state, N', and job execution ', e.execution_id, N' of wave ', e.rollout_wave, N' is active') AS detail
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.job_executions AS e ON e.rollout_of = r.execution_id
WHERE r.ended_at IS NOT NULL
    AND e.is_active = 1
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' of wave ', e.rollout_wave, N' of roll-out ', e.rollout_of, N' is of no target of the wave')
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id
WHERE e.rollout_of IS NOT NULL
    AND EXISTS (SELECT 1 FROM jobs_internal.rollouts AS r WHERE r.execution_id = e.rollout_of)
    AND t.is_endpoint = 0
    AND t.start_time IS NOT NULL -- what a skipped wave did not reach may be moved to a later one
    AND e.mode IS NULL -- a target may be moved after its preflight
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.rollout_targets AS x
        WHERE x.execution_id = e.rollout_of
            AND x.target_id = t.target_id
            AND x.wave = e.rollout_wave
    )
UNION ALL
SELECT CONCAT(N'job execution ', r.execution_id, N' has ended, and its roll-out is ', r.state)
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
WHERE e.is_active = 0
    AND r.state NOT IN (N'Succeeded', N'Aborted', N'Failed', N'Planning', N'Aborting')
UNION ALL
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N' has ', w.targets, N' targets, and ', c.assigned, N' are assigned to it')
FROM jobs_internal.rollout_waves AS w
CROSS APPLY (
    SELECT COUNT(*) AS assigned
    FROM jobs_internal.rollout_targets AS t
    WHERE t.execution_id = w.execution_id
        AND t.wave = w.wave
) AS c
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
WHERE e.purged_at IS NULL
    AND w.targets <> c.assigned
UNION ALL
SELECT CONCAT(t.server_name, N'/', t.database_name, N' of wave ', t.wave, N' of roll-out ', t.execution_id, N' has no place')
FROM jobs_internal.rollout_targets AS t
WHERE t.wave > 0
    AND t.place < 1;
