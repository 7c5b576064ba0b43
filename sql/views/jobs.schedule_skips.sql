-- Due instants of schedules that were not run, each with its reason.
--
-- Columns:
--   job_name       Name of the job.
--   schedule_name  Name of the schedule; NULL if the schedule has been deleted.
--   schedule_id    Id of the schedule.
--   due_time       The instant, or the first of several instants (UTC).
--   skipped        Number of instants that the row stands for.
--   cause          Overlap, CatchUp, NoSteps, Disabled, Paused, Changed, Deleted or Other.
--   reason         The reason as a sentence.
--   recorded_time  When the row was recorded (UTC).
CREATE OR ALTER VIEW jobs.schedule_skips
AS
SELECT
    j.name AS job_name,
    s.name AS schedule_name,
    k.schedule_id,
    k.due_at AS due_time,
    k.skipped,
    k.cause,
    k.reason,
    k.recorded_at AS recorded_time
FROM jobs_internal.schedule_skips AS k
INNER JOIN jobs_internal.jobs AS j ON j.job_id = k.job_id
LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = k.schedule_id
WHERE j.deleted_at IS NULL;
