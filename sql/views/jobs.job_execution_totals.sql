-- The numbers of the targets of runs (beyond Azure): one row per run, of all its steps. Read it for some runs.
--
-- Columns:
--   job_execution_id  Id of the run.
--   job_name          Name of the job.
--   job_id            Id of the job.
--   targets           Number of targets of the steps that have begun; a database counts once for each step.
--   not_succeeded     Number of those that ended as Failed, TimedOut or Canceled.
--
-- Plan: the rows of the steps, which have the number of their targets, and of those that did not succeed when they have ended. Targets of
-- steps of releases that stored no numbers are counted in UQ_target_executions_target_id, and failed ones of active steps in
-- IX_target_executions_failed; those that were canceled are not.
CREATE OR ALTER VIEW jobs.job_execution_totals
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    COALESCE(c.targets, 0) AS targets,
    COALESCE(c.not_succeeded, 0) AS not_succeeded
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
CROSS APPLY (
    SELECT SUM(COALESCE(s.targets, a.targets)) AS targets, SUM(COALESCE(s.not_succeeded, f.failed)) AS not_succeeded
    FROM jobs_internal.step_executions AS s
    CROSS APPLY (
        SELECT COUNT(*) AS targets
        FROM jobs_internal.target_executions AS t
        WHERE s.targets IS NULL
            AND t.step_execution_id = s.step_execution_id
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = s.step_execution_id)
    ) AS a
    CROSS APPLY (
        SELECT COUNT(*) AS failed
        FROM jobs_internal.target_executions AS t
        WHERE s.not_succeeded IS NULL
            AND t.execution_id = s.execution_id
            AND t.step_id = s.step_id
            AND t.lifecycle IN (N'Failed', N'TimedOut')
    ) AS f
    WHERE s.execution_id = e.execution_id
) AS c
WHERE j.deleted_at IS NULL;
