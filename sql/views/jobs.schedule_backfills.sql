-- Backfills of schedules: requests to run the instants of a past range.
--
-- Columns:
--   job_name       Name of the job.
--   schedule_name  Name of the schedule.
--   backfill_id    Id.
--   state          Open; Completed: all of the range was handled; Canceled or Faulted.
--   reason         Why the backfill is Canceled or Faulted.
--   from_time      First instant of the range (UTC).
--   to_time        Last instant of the range (UTC).
--   next_time      Next instant to handle (UTC); NULL: the backfill has not begun, or has ended.
--   overlap        Overlap policy of its runs.
--   started        Number of runs that it has started.
--   buffered       Number of its instants that wait for an earlier run to end, even if all of the range was handled.
--   skipped        Number of instants that it has skipped.
--   requested_by   Login that requested it.
--   requested_time  When it was requested (UTC).
--   end_time       When its state became final (UTC).
CREATE OR ALTER VIEW jobs.schedule_backfills
AS
SELECT
    j.name AS job_name,
    s.name AS schedule_name,
    f.backfill_id,
    f.state,
    f.reason,
    f.from_at AS from_time,
    f.to_at AS to_time,
    f.next_at AS next_time,
    f.overlap,
    f.started,
    (
        SELECT COUNT(*)
        FROM jobs_internal.schedule_buffer AS b
        WHERE b.schedule_id = f.schedule_id
            AND b.backfill_id = f.backfill_id
    ) AS buffered,
    f.skipped,
    f.requested_by,
    f.requested_at AS requested_time,
    f.ended_at AS end_time
FROM jobs_internal.schedule_backfills AS f
INNER JOIN jobs_internal.schedules AS s ON s.schedule_id = f.schedule_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
WHERE j.deleted_at IS NULL;
