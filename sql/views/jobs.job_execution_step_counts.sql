-- The number of targets of steps of runs (beyond Azure): one row per step that has begun. Read it for one run.
--
-- Columns:
--   job_execution_id  Id of the run.
--   job_name          Name of the job.
--   job_id            Id of the job.
--   step_id           Number of the step.
--   targets           Number of its targets; 0 before its list is frozen.
--   active_targets    Number of those that are not final.
--
-- Plan: each number is counted in an index alone: UQ_target_executions_target_id, IX_target_executions_active.
CREATE OR ALTER VIEW jobs.job_execution_step_counts
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    s.step_id,
    (
        SELECT COUNT(*)
        FROM jobs_internal.target_executions AS t
        WHERE t.step_execution_id = s.step_execution_id
            AND l.step_execution_id IS NULL -- complete lists only
    ) AS targets,
    (
        SELECT COUNT(*)
        FROM jobs_internal.target_executions AS a
        WHERE a.job_id = s.job_id
            AND a.step_execution_id = s.step_execution_id
            AND a.is_active = 1
            AND l.step_execution_id IS NULL
    ) AS active_targets
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
LEFT JOIN jobs_internal.step_lists AS l ON l.step_execution_id = s.step_execution_id
WHERE j.deleted_at IS NULL;
