-- The own runs of roll-outs: runs of versions with a plan, unless they were started as plain runs, and undos. Their targets run in waves,
-- whose runs are none of these. It does not read jobs_internal.rollouts, so it knows a run that no pass has seen yet, and waits for nobody.
--
-- Columns:
--   execution_id  The run.
--   job_id        Its job.
--   is_active     1: it has not ended, and neither has the roll-out.
CREATE OR ALTER VIEW jobs_internal.rollout_runs
AS
SELECT e.execution_id, e.job_id, e.is_active
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.job_versions AS v ON v.job_id = e.job_id AND v.version = e.job_version
WHERE e.rerun_of IS NULL
    AND e.rollout_of IS NULL
    AND (
        e.rollout_start = N'Undo'
        OR (v.rollout_plan IS NOT NULL AND (e.rollout_start IS NULL OR e.rollout_start = N'Hold'))
    );
