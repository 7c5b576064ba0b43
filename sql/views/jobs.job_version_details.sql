-- The versions of every job with what jobs.job_versions, whose columns are Azure's, does not have. Version 0 has no steps.
--
-- Columns:
--   job_name     Name of the job.
--   job_id       Id of the job.
--   job_version  Number of the version.
--   created_time When the version was created (UTC).
CREATE OR ALTER VIEW jobs.job_version_details
AS
SELECT
    j.name AS job_name,
    j.job_id,
    v.version AS job_version,
    v.created_at AS created_time
FROM jobs_internal.job_versions AS v
INNER JOIN jobs_internal.jobs AS j ON j.job_id = v.job_id
WHERE j.deleted_at IS NULL;
