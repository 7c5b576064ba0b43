-- Runs started by jobs.sp_rerun_job_execution, each with the run that it repeats.
--
-- Columns:
--   job_execution_id         The rerun.
--   rerun_of                 The run whose targets it takes; NULL once that run has been purged.
--   job_name                 Name of the job.
--   job_id                   Id of the job.
--   job_version              Version of the job that the rerun runs.
--   is_active                1: the rerun is not final.
--   lifecycle                Lifecycle of the rerun.
--   create_time              When the rerun was started (UTC).
--   started_by               Login that started it.
--   only_states              Final states of the targets that it runs again, separated by commas.
--   leaves_failures          1: only_states excludes targets or steps that did not succeed, so steps that the first run
--                            did not reach are skipped.
CREATE OR ALTER VIEW jobs.job_execution_reruns
AS
SELECT
    e.job_execution_id,
    o.job_execution_id AS rerun_of,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    e.is_active,
    e.lifecycle,
    e.create_time,
    e.started_by,
    e.rerun_only AS only_states,
    e.rerun_partial AS leaves_failures
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
LEFT JOIN jobs_internal.visible_runs AS o ON o.execution_id = e.rerun_of
WHERE e.rerun_of IS NOT NULL
    AND j.deleted_at IS NULL;
