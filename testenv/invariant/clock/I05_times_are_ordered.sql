-- I5: all times come from one clock, so an end follows its start, a child its parent, and an
-- attempt the previous attempt.
SELECT CONCAT(N'job execution ', e.execution_id, N': ', w.what) AS detail
FROM jobs_internal.job_executions AS e
CROSS APPLY (VALUES
    (CASE WHEN e.start_time < e.create_time THEN N'it started before it was created' END),
    (CASE WHEN e.end_time < COALESCE(e.start_time, e.create_time) THEN N'it ended before it started' END),
    (CASE WHEN e.stop_requested_at < e.create_time THEN N'its stop was requested before it was created' END)
) AS w (what)
WHERE w.what IS NOT NULL
UNION ALL
SELECT CONCAT(N'step execution ', s.step_execution_id, N': ', w.what)
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
CROSS APPLY (VALUES
    (CASE WHEN s.create_time < e.create_time THEN N'it was created before its run' END),
    (CASE WHEN s.start_time < s.create_time THEN N'it started before it was created' END),
    (CASE WHEN s.attempt_start_time < s.start_time THEN N'an attempt began before it started' END),
    (CASE WHEN s.resolved_at < s.create_time THEN N'its targets were known before it was created' END),
    (CASE WHEN s.end_time < COALESCE(s.start_time, s.create_time) THEN N'it ended before it started' END),
    (CASE WHEN e.end_time < s.end_time THEN N'it ended after its run' END)
) AS w (what)
WHERE w.what IS NOT NULL
UNION ALL
SELECT CONCAT(N'target execution ', t.target_execution_id, N': ', w.what)
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = t.step_execution_id
CROSS APPLY (VALUES
    (CASE WHEN t.create_time < s.create_time THEN N'it was created before its step' END),
    (CASE WHEN t.start_time < t.create_time THEN N'it started before it was created' END),
    (CASE WHEN t.attempt_start_time < t.start_time THEN N'an attempt began before it started' END),
    (CASE WHEN t.end_time < COALESCE(t.start_time, t.create_time) THEN N'it ended before it started' END),
    (CASE WHEN s.end_time < t.end_time THEN N'it ended after its step' END)
) AS w (what)
WHERE w.what IS NOT NULL
UNION ALL
SELECT CONCAT(N'task ', k.task_id, N' of term ', k.term_id, N': ', w.what)
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
INNER JOIN jobs_internal.terms AS m ON m.term_id = k.term_id
CROSS APPLY (VALUES
    (CASE WHEN k.claimed_at < s.create_time THEN N'it was claimed before its step was created' END),
    (CASE WHEN k.claimed_at < m.started_at THEN N'it was claimed before its term started' END),
    (CASE WHEN k.ended_at < k.claimed_at THEN N'it ended before it was claimed' END)
) AS w (what)
WHERE w.what IS NOT NULL
UNION ALL
SELECT CONCAT(N'task ', n.task_id, N' was claimed before the attempt before it, task ', n.former_task, N', had ended')
FROM (
    SELECT
        k.task_id,
        k.claimed_at,
        LAG(k.task_id) OVER (PARTITION BY k.step_execution_id, k.target_execution_id ORDER BY k.task_id) AS former_task,
        LAG(k.ended_at) OVER (PARTITION BY k.step_execution_id, k.target_execution_id ORDER BY k.task_id) AS former_end
    FROM jobs_internal.task_executions AS k
) AS n
WHERE n.former_task IS NOT NULL
    AND (n.former_end IS NULL OR n.claimed_at < n.former_end)
UNION ALL
SELECT CONCAT(N'term ', m.term_id, N': ', w.what)
FROM jobs_internal.terms AS m
CROSS APPLY (VALUES
    (CASE WHEN m.expires_at < m.started_at THEN N'it expires before it started' END),
    (CASE WHEN m.ended_at < m.started_at THEN N'it ended before it started' END)
) AS w (what)
WHERE w.what IS NOT NULL;
