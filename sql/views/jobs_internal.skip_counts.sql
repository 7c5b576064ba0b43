-- Due instants of schedules that were not run, without the names and reasons of jobs.schedule_skips, for their numbers in metrics.
--
-- Columns:
--   cause        Overlap, CatchUp, NoSteps, Disabled, Paused, Changed, Deleted or Other.
--   skipped      Number of instants that the row stands for.
--   recorded_at  When the row was recorded (UTC).
--
-- Plan: IX_schedule_skips_recorded_at for a span of time.
CREATE OR ALTER VIEW jobs_internal.skip_counts
AS
SELECT k.cause, k.skipped, k.recorded_at
FROM jobs_internal.schedule_skips AS k;
