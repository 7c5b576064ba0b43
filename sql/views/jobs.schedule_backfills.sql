-- Backfills of schedules: requests to run the instants of a past range.
--
-- Columns:
--   job_name       Name of the job.
--   schedule_name  Name of the schedule.
--   backfill_id    Id.
--   state          Open; Completed: all of the range was looked at; Canceled or Faulted.
--   reason         Why it is Canceled or Faulted.
--   from_time      First instant of the range (UTC).
--   to_time        Last instant of the range (UTC).
--   next_time      Next instant to look at (UTC); NULL: it has not begun, or has ended.
--   overlap        Overlap policy of its runs.
--   started        Runs that it has started.
--   buffered       Instants of it that wait now for an earlier run to end, also when all of the range was looked at.
--   skipped        Instants that it has skipped.
--   requested_by   Who asked for it.
--   requested_time  When (UTC).
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
