-- I17: no target of a wave starts before the waves before it have passed and their bakes have ended, or a person skipped them, and
-- before the wave is approved if its plan asks for it.
SELECT CONCAT(N'a target of wave ', w.wave, N' of roll-out ', w.execution_id, N' started at ', CONVERT(NVARCHAR(27), f.first_start, 126),
    N', and wave ', b.wave, N' is ', b.state, N' since ', CONVERT(NVARCHAR(27), b.ended_at, 126)) AS detail
FROM jobs_internal.rollout_waves AS w
INNER JOIN jobs_internal.rollout_waves AS b ON b.execution_id = w.execution_id AND b.wave < w.wave
CROSS APPLY (
    SELECT MIN(t.start_time) AS first_start
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id
    WHERE e.rollout_of = w.execution_id
        AND e.rollout_wave = w.wave
) AS f
WHERE f.first_start IS NOT NULL
    AND (
        b.state NOT IN (N'Passed', N'Skipped')
        OR b.ended_at IS NULL
        OR b.ended_at > f.first_start
        OR (b.state = N'Passed' AND b.bake_until > b.ended_at)
    )
UNION ALL
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N' started, and was approved at ', COALESCE(CONVERT(NVARCHAR(27), w.approved_at, 126), N'no time'))
FROM jobs_internal.rollout_waves AS w
WHERE w.started_at IS NOT NULL
    AND w.approval <> N'none'
    AND (w.approved_at IS NULL OR w.approved_at > w.started_at)
UNION ALL
SELECT CONCAT(N'job execution ', e.execution_id, N' of wave ', e.rollout_wave, N' is active, and roll-out ', r.execution_id, N' is ', r.state, N' in wave ', r.wave)
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.job_executions AS e ON e.rollout_of = r.execution_id
WHERE e.is_active = 1
    AND (r.wave <> e.rollout_wave OR r.state NOT IN (N'Preflight', N'Running', N'Probing', N'Aborting'))
UNION ALL
-- What a probe returned is within the limits of the wave that has passed, on each of its targets. The values of a probe may be purged once the
-- roll-out has ended.
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N' has passed, and its probe returned ', COALESCE(CAST(v.value AS NVARCHAR(40)), N'no number'),
    N' in ', v.row_count, N' rows, ', b.value, N' before, on ', t.database_name)
FROM jobs_internal.rollout_waves AS w
INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = w.execution_id
INNER JOIN jobs_internal.rollout_targets AS t ON t.execution_id = w.execution_id AND t.wave = w.wave AND t.state <> N'LeftOut'
LEFT JOIN jobs_internal.rollout_probe_values AS v ON v.execution_id = w.probe_run_id AND v.target_id = t.target_id
LEFT JOIN jobs_internal.rollout_probe_values AS b ON b.execution_id = w.before_run_id AND b.target_id = t.target_id
WHERE w.state = N'Passed'
    AND w.probe_check IS NOT NULL
    AND (
        v.row_count > w.probe_max_rows
        OR v.value > w.probe_max_value
        OR v.value < w.probe_min_value
        OR CAST(v.value AS FLOAT) * 100 > CAST(b.value AS FLOAT) * w.probe_max_percent
        OR CAST(v.value AS FLOAT) * 100 < CAST(b.value AS FLOAT) * w.probe_min_percent
        OR (r.ended_at IS NULL AND v.target_id IS NULL)
        OR (v.target_id IS NOT NULL AND v.value IS NULL AND COALESCE(w.probe_min_value, w.probe_max_value, w.probe_min_percent, w.probe_max_percent) IS NOT NULL)
        OR (r.ended_at IS NULL AND b.value IS NULL AND COALESCE(w.probe_min_percent, w.probe_max_percent) IS NOT NULL)
    )
UNION ALL
SELECT CONCAT(N'wave ', w.wave, N' of roll-out ', w.execution_id, N' has started, and no probe before it has passed')
FROM jobs_internal.rollout_waves AS w
WHERE w.run_id IS NOT NULL
    AND w.before_run_id IS NULL
    AND COALESCE(w.probe_min_percent, w.probe_max_percent) IS NOT NULL;
