-- Triggers: jobs that start after runs of other jobs (beyond Azure).
--
-- Columns:
--   job_name       The job that starts.
--   job_id         Id of the job.
--   trigger_name   Name of the trigger; unique within the job.
--   trigger_id     Id of the trigger.
--   enabled        1: runs that end are stored as events.
--   run_when       What a run of an upstream job ends with: Succeeded, Failed or Finished.
--   targets        Which databases its runs have: All, or Succeeded, those on which the upstream jobs succeeded.
--   upstream_jobs  Names of the jobs that it watches: a JSON array.
--   waiting        Number of events that wait.
--   created_time   When it was created (UTC, as all times).
--   updated_time   When it was last changed.
CREATE OR ALTER VIEW jobs.job_triggers
AS
SELECT
    j.name AS job_name,
    t.job_id,
    t.name AS trigger_name,
    t.trigger_id,
    t.enabled,
    t.run_when,
    t.targets,
    (
        SELECT CONCAT(N'[', STRING_AGG(
            CONCAT(CAST(N'"' AS NVARCHAR(MAX)), STRING_ESCAPE(p.name, 'json'), N'"'), N','
        ) WITHIN GROUP (ORDER BY p.name), N']')
        FROM jobs_internal.job_trigger_upstreams AS u
        INNER JOIN jobs_internal.jobs AS p ON p.job_id = u.upstream_job_id
        WHERE u.trigger_id = t.trigger_id
    ) AS upstream_jobs,
    (
        SELECT COUNT(*)
        FROM jobs_internal.trigger_events AS e
        WHERE e.job_id = t.job_id
            AND e.trigger_id = t.trigger_id
            AND e.is_waiting = 1
    ) AS waiting,
    t.created_at AS created_time,
    t.updated_at AS updated_time
FROM jobs_internal.job_triggers AS t
INNER JOIN jobs_internal.jobs AS j ON j.job_id = t.job_id
WHERE j.deleted_at IS NULL;
