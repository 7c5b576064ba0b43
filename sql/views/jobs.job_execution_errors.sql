-- The number of failed targets of steps of runs, by error (beyond Azure). Read it for one run.
--
-- Columns:
--   job_execution_id  Id of the run.
--   job_name          Name of the job.
--   job_id            Id of the job.
--   step_id           Number of the step.
--   error_number      Number of the error; NULL: not an error of a server.
--   failed_targets    Number of targets that ended as Failed or TimedOut with it.
--
-- Plan: the failed targets of the run in IX_target_executions_failed alone.
CREATE OR ALTER VIEW jobs.job_execution_errors
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    t.step_id,
    t.error_number,
    COUNT(*) AS failed_targets
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id
WHERE t.lifecycle IN (N'Failed', N'TimedOut')
    AND j.deleted_at IS NULL
GROUP BY e.job_execution_id, j.name, e.job_id, t.step_id, t.error_number;
