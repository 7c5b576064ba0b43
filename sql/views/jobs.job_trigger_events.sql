-- Runs that ended and that triggers watched: what each of them started, or why nothing was started (beyond Azure).
--
-- Columns:
--   job_name                   The job that the trigger starts.
--   trigger_name               Name of the trigger; NULL: it was deleted.
--   event_id                   Id of the event, in order of occurrence.
--   upstream_job_name          The job whose run ended; NULL: it was deleted.
--   upstream_job_execution_id  The run that ended. It may have been purged.
--   upstream_lifecycle         What it ended with.
--   created_time               When it ended (UTC, as all times).
--   state                      Waiting, Started or Skipped.
--   ended_time                 When it was started or skipped.
--   job_execution_id           The run that was started; NULL: none, or it was purged. Events of several jobs may start one run.
--   reason                     Why it was skipped.
CREATE OR ALTER VIEW jobs.job_trigger_events
AS
SELECT
    j.name AS job_name,
    t.name AS trigger_name,
    e.event_id,
    p.name AS upstream_job_name,
    e.upstream_run AS upstream_job_execution_id,
    e.upstream_lifecycle,
    e.created_at AS created_time,
    CASE WHEN e.is_waiting = 1 THEN N'Waiting' WHEN e.execution_id IS NOT NULL THEN N'Started' ELSE N'Skipped' END AS state,
    e.ended_at AS ended_time,
    r.job_execution_id,
    e.reason
FROM jobs_internal.trigger_events AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = e.trigger_id
LEFT JOIN jobs_internal.jobs AS p ON p.job_id = e.upstream_job_id
    AND p.deleted_at IS NULL
LEFT JOIN jobs_internal.visible_runs AS r ON r.execution_id = e.execution_id
    AND e.execution_id IS NOT NULL -- so that a run finds its events by the index
WHERE j.deleted_at IS NULL;
