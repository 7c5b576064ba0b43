-- I21: if the plan of a roll-out wants preflights, no target of a wave starts before one that covers it has ended, and with refuse or
-- leave_out, passed; a target that is left out does not start.
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N' has the run ', w.run_id, N', and no preflight ended before it') AS detail
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.run_id
LEFT JOIN jobs_internal.job_executions AS p ON p.execution_id = w.preflight_run_id
WHERE r.preflight <> N'none'
    AND w.state <> N'Preflight' -- of the next run
    AND (w.preflight_run_id IS NULL OR (p.purged_at IS NULL AND p.execution_id < e.execution_id AND p.is_active = 1))
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' of wave ', w.wave, N' of roll-out ', w.execution_id,
    N' started at ', CONVERT(NVARCHAR(27), t.start_time, 126), N', and its preflight was the run ', COALESCE(CAST(l.execution_id AS NVARCHAR(20)), N'(none)'))
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.run_id
INNER JOIN jobs_internal.job_executions AS p ON p.execution_id = w.preflight_run_id AND p.purged_at IS NULL
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id
CROSS APPLY (
    -- The last preflight of the target since the run of the wave before.
    SELECT MAX(f.execution_id) AS execution_id
    FROM jobs_internal.job_executions AS f
    INNER JOIN jobs_internal.target_executions AS x ON x.execution_id = f.execution_id
    WHERE f.rollout_of = w.execution_id
        AND f.rollout_wave = w.wave
        AND f.mode = N'Preflight'
        AND f.execution_id > e.rerun_of
        AND f.execution_id < e.execution_id
        AND x.target_id = t.target_id
) AS l
WHERE r.preflight IN (N'refuse', N'leave_out')
    AND t.is_endpoint = 0
    AND t.start_time IS NOT NULL
    AND (
        l.execution_id IS NULL
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS x
            WHERE x.execution_id = l.execution_id
                AND x.target_id = t.target_id
                AND (x.lifecycle <> N'Succeeded' OR x.end_time > t.start_time)
        )
    )
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N' of wave ', e.rollout_wave, N' of roll-out ', e.rollout_of, N' is of a target that is left out')
FROM jobs_internal.rollout_targets AS x
INNER JOIN jobs_internal.job_executions AS e ON e.rollout_of = x.execution_id AND e.rollout_wave = x.wave
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id AND t.target_id = x.target_id
WHERE x.state = N'LeftOut'
    AND e.mode IS NULL
    AND e.rollout_probe = 0
UNION ALL
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N' counts ', w.left_out, N' targets as left out, and ', c.left_out, N' are')
FROM jobs_internal.rollout_waves AS w
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = w.execution_id
CROSS APPLY (
    SELECT COUNT(*) AS left_out
    FROM jobs_internal.rollout_targets AS x
    WHERE x.execution_id = w.execution_id
        AND x.wave = w.wave
        AND x.state = N'LeftOut'
) AS c
WHERE e.purged_at IS NULL
    AND w.left_out <> c.left_out;
