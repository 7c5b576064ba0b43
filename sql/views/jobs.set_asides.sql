-- Runs, schedules and triggers that passes of agents leave out, because the control database refused what a pass would have stored about
-- them (beyond Azure). Nothing else waits for them. Each is tried again at retry_time, and after a stop request.
--
-- Columns:
--   kind              Run, Schedule (its waiting instants start no run) or Trigger (it starts no run).
--   job_name          Name of the job; NULL: it was deleted.
--   job_id            Id of the job; NULL if the run, schedule or trigger does not exist any more.
--   job_execution_id  Id of the run; NULL for other kinds.
--   name              Name of the schedule or trigger; NULL for a run.
--   since_time        Since when it is set aside (UTC, as all times).
--   tries             How often it was tried.
--   retry_time        When it is tried again.
--   error_message     The error of the last try.
--   message           What was refused, what it means, and what to do, in words.
CREATE OR ALTER VIEW jobs.set_asides
AS
SELECT
    z.kind,
    j.name AS job_name,
    COALESCE(e.job_id, s.job_id, t.job_id) AS job_id,
    e.job_execution_id,
    COALESCE(s.name, t.name) AS name,
    z.created_at AS since_time,
    z.tries,
    z.retry_at AS retry_time,
    z.error_message,
    m.message
FROM jobs_internal.set_asides AS z
INNER JOIN jobs_internal.set_aside_messages AS m ON m.kind = z.kind AND m.first_id = z.first_id
LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = CASE WHEN z.kind = N'Run' THEN z.first_id END
LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = CASE WHEN z.kind = N'Schedule' THEN z.first_id END
LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = CASE WHEN z.kind = N'Trigger' THEN z.first_id END
LEFT JOIN jobs_internal.jobs AS j ON j.job_id = COALESCE(e.job_id, s.job_id, t.job_id)
    AND j.deleted_at IS NULL
WHERE z.is_part = 0;
