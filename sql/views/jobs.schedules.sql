-- Schedules of jobs: those of jobs.sp_add_job, whose names are empty, and those of jobs.sp_add_schedule.
--
-- Columns:
--   job_name               Name of the job.
--   schedule_name          Name; unique within the job.
--   schedule_id            Id.
--   kind                   elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule.
--   spec                   Text of the schedule; NULL for the schedule of jobs.sp_add_job, which jobs.jobs shows.
--   time_zone              Zone in which the text is read; after a validation the zone that the agent determined.
--   enabled                1: due instants become runs, unless the schedule is paused.
--   state                  Enabled, Disabled (or paused), Completed (no due instant is left) or Faulted (the text is
--                          invalid).
--   reason                 Explanation of the state; NULL if none is needed.
--   catch_up               Policy for missed runs; NULL: the policy in the text, else last.
--   overlap                Policy while an earlier run is active.
--   pause_on_failure       1: a run that ends Failed or TimedOut pauses it.
--   paused                 1: paused until it is resumed.
--   paused_by              Login that last paused or resumed it; jobagent: it was paused because of a failure.
--   paused_at              Time of the latest pause or resumption (UTC).
--   pause_note             Note of that call.
--   next_due_time          Next due instant (UTC); NULL: none.
--   last_due_time          Last instant that was handled: run, or recorded as skipped (UTC).
--   upcoming               The next instants, as of the latest validation or run: a JSON array of at most ten.
--   executions             Number of runs that it has started.
--   failures               Number of failed attempts in its runs.
--   faults                 Number of its runs that ended Failed or TimedOut.
--   skipped_by_overlap     Number of instants that were not run because an earlier run was active.
--   skipped_by_catch_up    Number of instants that were missed and not made up.
--   skipped_otherwise      Number of instants that were not run for another reason: see jobs.schedule_skips.
--   buffered               Number of instants that wait for an earlier run to end.
--   last_job_execution_id  Its latest run.
--   last_lifecycle         Lifecycle of its latest run.
--   validated_time         When an agent validated the text (UTC); NULL: not since it was changed.
--   engine                 Program and time zone data that computed its instants (D-Z1).
--   validation_errors      All errors of the text, as JSON {"errors": [{path, value, message}]}.
--   warnings               Parts of the text whose meaning may be surprising, as a JSON array of sentences.
--   created_time           When the schedule was added (UTC).
--   updated_time           When the schedule was changed (UTC).
--   defined_time           When kind or text was last changed (UTC). A text such as "tomorrow at 4pm" is relative to
--                          it.
--   parameters             The JSON object that its runs get as parameters; NULL: none.
--   interval_type          Once, Minutes, Hours, Days, Weeks or Months: the schedule of jobs.sp_add_job; NULL for all others, whose
--                          text defines them.
--   interval_count         Units between two due instants, likewise.
--   start_time             Earliest instant at which a run may begin, likewise (UTC).
--   end_time               Instant after which none may begin, likewise (UTC).
--   anchor_time            Origin of the intervals (UTC); NULL: the schedule was never enabled, or the text defines it.
--   job_id                 Id of the job.
--   given_time_zone        Zone as it was given to jobs.sp_add_schedule or jobs.sp_update_schedule; NULL: none, so that the zone in the
--                          text counts, or else the default. It stays when time_zone becomes the zone that the agent determined.
--   description            The schedule in English words, as of its latest validation; NULL: it waits for one, an agent of an earlier
--                          release made it, or it is the schedule of jobs.sp_add_job.
--   parameters_fault       Why its parameters do not fit those that the job declares, so that it starts no runs; NULL: they do.
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
    COALESCE(s.defined_at, s.created_at) AS defined_time,
    p.text AS parameters,
    s.interval_type,
    s.interval_count,
    s.start_time,
    s.end_time,
    s.anchor_at AS anchor_time,
    s.job_id,
    s.time_zone AS given_time_zone,
    s.description,
    s.parameters_fault
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = s.last_execution_id
LEFT JOIN jobs_internal.payloads AS p ON p.payload_id = s.payload_id
WHERE j.deleted_at IS NULL;
