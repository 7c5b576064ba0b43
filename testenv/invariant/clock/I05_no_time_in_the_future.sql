-- I5: no time is in the future if the database's clock has set all times. Planned times are not
-- checked.
SELECT CONCAT(x.what, N' ', x.id, N' has a time of ', CONVERT(NVARCHAR(30), x.at, 126), N', and the clock shows ', CONVERT(NVARCHAR(30), SYSUTCDATETIME(), 126)) AS detail
FROM (
    SELECT N'job execution' AS what, e.execution_id AS id, w.at
    FROM jobs_internal.job_executions AS e
    CROSS APPLY (VALUES (e.create_time), (e.start_time), (e.end_time), (e.stop_requested_at)) AS w (at)
    UNION ALL
    SELECT N'step execution', s.step_execution_id, w.at
    FROM jobs_internal.step_executions AS s
    CROSS APPLY (VALUES (s.create_time), (s.start_time), (s.end_time), (s.attempt_start_time), (s.resolved_at)) AS w (at)
    UNION ALL
    SELECT N'target execution', t.target_execution_id, w.at
    FROM jobs_internal.target_executions AS t
    CROSS APPLY (VALUES (t.create_time), (t.start_time), (t.end_time), (t.attempt_start_time)) AS w (at)
    UNION ALL
    SELECT N'task', k.task_id, w.at
    FROM jobs_internal.task_executions AS k
    CROSS APPLY (VALUES (k.claimed_at), (k.ended_at)) AS w (at)
    UNION ALL
    SELECT N'term', m.term_id, w.at
    FROM jobs_internal.terms AS m
    CROSS APPLY (VALUES (m.started_at), (m.ended_at)) AS w (at)
    UNION ALL
    SELECT N'schedule skip', k.skip_id, w.at
    FROM jobs_internal.schedule_skips AS k
    CROSS APPLY (VALUES (k.recorded_at)) AS w (at)
) AS x
WHERE x.at > SYSUTCDATETIME();
