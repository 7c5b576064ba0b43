-- Every version of every job. Version 0 has no steps.
--
-- Columns:
--   job_name     Name of the job.
--   job_id       Id of the job.
--   job_version  Number of the version.
CREATE OR ALTER VIEW jobs.job_versions
AS
SELECT
    j.name AS job_name,
    j.job_id,
    v.version AS job_version
FROM jobs_internal.job_versions AS v
INNER JOIN jobs_internal.jobs AS j ON j.job_id = v.job_id
WHERE j.deleted_at IS NULL;
