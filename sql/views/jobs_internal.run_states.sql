-- States of runs, without the names and messages of jobs.job_executions, for the numbers of runs in metrics.
--
-- Columns:
--   lifecycle  Lifecycle of the run, as in jobs.job_executions.
--   is_active  1: not final.
--   end_time   When it finished (UTC); NULL before.
--   mode       Trial or Preflight; NULL: its scripts run.
--
-- Plan: IX_job_executions_active_create_time for active runs; IX_job_executions_end_time for runs that ended in a span of time.
CREATE OR ALTER VIEW jobs_internal.run_states
AS
SELECT e.lifecycle, e.is_active, e.end_time, e.mode
FROM jobs_internal.visible_runs AS e;
