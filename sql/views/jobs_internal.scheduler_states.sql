-- The states of jobs of job collections (R-38, R-40).
--
-- Columns:
--   job_id         The job.
--   schedule_id    Its schedule.
--   state          Enabled; Disabled: its schedule is disabled or paused; Completed: no due instant is left, and its last run has ended;
--                  Faulted: its schedule is invalid, or it was due once and this run failed.
CREATE OR ALTER VIEW jobs_internal.scheduler_states
AS
SELECT
    d.job_id,
    s.schedule_id,
    CASE
        WHEN s.state = N'Faulted' THEN N'Faulted'
        WHEN s.state = N'Completed' AND e.is_active = 1 THEN N'Enabled'
        WHEN s.state = N'Completed'
            AND JSON_QUERY(s.spec, '$.recurrence') IS NULL
            AND COALESCE(e.lifecycle, s.last_lifecycle) IN (N'Failed', N'TimedOut') THEN N'Faulted'
        WHEN s.state = N'Completed' THEN N'Completed'
        WHEN s.enabled = 0 OR s.paused = 1 THEN N'Disabled'
        ELSE N'Enabled'
    END AS state
FROM jobs_internal.scheduler_jobs AS d
INNER JOIN jobs_internal.schedules AS s ON s.job_id = d.job_id AND s.name = N'scheduler'
LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = s.last_execution_id;
