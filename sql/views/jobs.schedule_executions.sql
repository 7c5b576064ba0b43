-- Runs started by schedules, with their due instants. A run that was made up keeps the instant at which it was due.
--
-- Columns:
--   job_name          Name of the job.
--   schedule_name     Name of the schedule; NULL if the schedule has been deleted.
--   schedule_id       Id of the schedule.
--   due_time          The due instant (UTC).
--   backfill_id       Backfill that requested the run; NULL: the schedule itself.
--   job_execution_id  Id of the run, as in jobs.job_executions.
--   lifecycle         Lifecycle of the run.
--   is_active         1: the run is not final.
--   create_time       When the run was created (UTC).
--   start_time        When its first step began (UTC); NULL: not yet.
--   end_time          When the run became final (UTC).
CREATE OR ALTER VIEW jobs.schedule_executions
AS
SELECT
    j.name AS job_name,
    s.name AS schedule_name,
    e.schedule_id,
    e.due_at AS due_time,
    e.backfill_id,
    e.job_execution_id,
    e.lifecycle,
    e.is_active,
    e.create_time,
    e.start_time,
    e.end_time
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = e.schedule_id
WHERE e.schedule_id IS NOT NULL
    AND j.deleted_at IS NULL;
