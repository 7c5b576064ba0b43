-- The parameters of runs. A run without parameters has no row.
--
-- Columns:
--   job_execution_id  Id of the run, as in jobs.job_executions.
--   job_name          Name of the job.
--   job_id            Id of the job.
--   create_time       When the run was created (UTC).
--   parameters        The JSON object that was given to jobs.sp_start_job, or that its schedule carried. A rerun has that of
--                     the run that it repeats.
CREATE OR ALTER VIEW jobs.job_execution_parameters
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.create_time,
    p.text AS parameters
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.payloads AS p ON p.payload_id = e.payload_id
WHERE j.deleted_at IS NULL;
