-- Jobs, with more than Azure shows: see jobs.jobs.
--
-- Columns:
--   job_name                 Name; unique.
--   job_id                   Id.
--   job_version              Current version, which the next run uses. 0: the job has no steps yet.
--   description              Free text; empty if none was given.
--   enabled                  1: the schedule starts runs. sp_start_job starts a job in either case.
--   schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months.
--   schedule_interval_count  Units between two runs.
--   schedule_start_time      Earliest time at which a run may begin (UTC).
--   schedule_end_time        Time after which no run may begin (UTC).
--   is_system                1: a job that agents maintain, whose name begins with jobagent$.
--   created_time             When the job was added (UTC).
--   revision                 Grows with every change of the job, its steps or its schedules.
--   origin                   System; Scheduler or SAP for jobs that are defined by these APIs; else Elastic.
--   parameters               The parameters that it declares, a JSON array (see jobs.job_parameters); NULL: none, so runs take any.
--   rollout_plan             The plan by which its runs are rolled out, a JSON object (see jobs.job_rollout_plans); NULL: none.
CREATE OR ALTER VIEW jobs.job_details
AS
SELECT
    j.name AS job_name,
    j.job_id,
    j.current_version AS job_version,
    j.description,
    s.enabled,
    s.interval_type AS schedule_interval_type,
    s.interval_count AS schedule_interval_count,
    s.start_time AS schedule_start_time,
    s.end_time AS schedule_end_time,
    j.is_system,
    j.created_at AS created_time,
    j.revision,
    CASE
        WHEN j.is_system = 1 THEN N'System'
        WHEN EXISTS (SELECT 1 FROM jobs_internal.scheduler_jobs AS c WHERE c.job_id = j.job_id) THEN N'Scheduler'
        WHEN EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = j.job_id) THEN N'SAP'
        ELSE N'Elastic'
    END AS origin,
    j.parameters,
    v.rollout_plan
FROM jobs_internal.jobs AS j
INNER JOIN jobs_internal.schedules AS s ON s.job_id = j.job_id AND s.name = N''
INNER JOIN jobs_internal.job_versions AS v ON v.job_id = j.job_id AND v.version = j.current_version
WHERE j.deleted_at IS NULL;
