-- Schedules of jobs, that of jobs.sp_add_job (its name is empty) and those of jobs.sp_add_schedule.
--
-- Columns:
--   job_name               Name of the job.
--   schedule_name          Name; unique within the job.
--   schedule_id            Id.
--   kind                   elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule.
--   spec                   Its text; NULL for the one of jobs.sp_add_job, which jobs.jobs shows.
--   time_zone              Zone in which the text is read; as the agent has found it, if it has.
--   enabled                1: its due instants become runs, unless it is paused.
--   state                  Enabled, Disabled (or paused), Completed (no due instant is left) or Faulted (the text cannot be read).
--   reason                 Why it is in its state; NULL when nobody has to ask.
--   catch_up               What happens to missed runs; NULL: what the text says, else last.
--   overlap                What happens while an earlier run is active.
--   pause_on_failure       1: a run that ends Failed or TimedOut pauses it.
--   paused                 1: paused until somebody resumes it.
--   paused_by              Who paused or resumed it last; jobagent: a failure did.
--   paused_at              When that was (UTC).
--   pause_note             The note that was left.
--   next_due_time          Next instant at which it is due (UTC); NULL: none.
--   last_due_time          Last instant that was handled: run, or recorded as skipped (UTC).
--   upcoming               The next instants as of the latest validation or run, as a JSON array of at most ten.
--   executions             Runs that it has started.
--   failures               Attempts in its runs that failed.
--   faults                 Its runs that ended Failed or TimedOut.
--   skipped_by_overlap     Instants that were not run because an earlier run was active.
--   skipped_by_catch_up    Instants that were missed and not made up.
--   skipped_otherwise      Instants that were not run for another reason: see jobs.schedule_skips.
--   buffered               Instants that wait for an earlier run to end.
--   last_job_execution_id  Its latest run.
--   last_lifecycle         Lifecycle of that.
--   validated_time         When an agent has read the text (UTC); NULL: not since it was changed.
--   engine                 What has computed its instants: program and time zone data (D-Z1).
--   validation_errors      All that is wrong with the text, as JSON {"errors": [{path, value, message}]}.
--   warnings               What was read otherwise than people might think, as a JSON array of sentences.
--   created_time           When it was added (UTC).
--   updated_time           When it was changed (UTC).
--   defined_time           When kind or text last changed (UTC): a text such as "tomorrow at 4pm" counts from there.
CREATE OR ALTER VIEW jobs.schedules
AS
SELECT
    j.name AS job_name,
    s.name AS schedule_name,
    s.schedule_id,
    s.kind,
    s.spec,
    COALESCE(s.zone, s.time_zone) AS time_zone,
    s.enabled,
    s.state,
    s.reason,
    s.catch_up,
    s.overlap,
    s.pause_on_failure,
    s.paused,
    s.paused_by,
    s.paused_at,
    s.pause_note,
    s.next_due_at AS next_due_time,
    s.last_due_at AS last_due_time,
    s.upcoming,
    s.executions,
    s.failures,
    s.faults,
    s.skips_overlap AS skipped_by_overlap,
    s.skips_catch_up AS skipped_by_catch_up,
    s.skips - s.skips_overlap - s.skips_catch_up AS skipped_otherwise,
    s.buffered,
    s.last_job_execution_id,
    COALESCE(e.lifecycle, s.last_lifecycle) AS last_lifecycle,
    s.validated_at AS validated_time,
    s.engine,
    s.validation_errors,
    s.warnings,
    s.created_at AS created_time,
    s.updated_at AS updated_time,
    COALESCE(s.defined_at, s.created_at) AS defined_time
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = s.last_execution_id
WHERE j.deleted_at IS NULL;
