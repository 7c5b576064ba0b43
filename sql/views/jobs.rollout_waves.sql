-- The waves of roll-outs, once the target groups of their jobs are resolved.
--
-- Columns:
--   job_execution_id      The roll-out: the id of its own run.
--   wave                  1, 2, …, in the order in which they run.
--   name                  Of the plan.
--   state                 Pending, WaitingForApproval, Preflight (what its scripts need is checked), Running, Baking (its gates have
--                         passed, and its bake or its last probe lasts), Passed, Stopped (a gate has failed) or Skipped (by a person).
--   targets               Number of its targets; NULL: they are not assigned yet.
--   max_parallelism       Targets that run at once; NULL: as many as other limits allow.
--   pace                  Targets that start in any minute; NULL: as many as can.
--   bake_seconds          How long the roll-out waits after it.
--   approval              none, any, or other: a person who did not start the roll-out.
--   window_name           Calendar in whose windows alone it starts and goes on; NULL: it does at any time.
--   max_failed, max_unknown, max_unreached  Numbers of targets that may fail, end with an unknown outcome, or not be reached.
--   max_duration_percent  Largest median duration of its targets, in percent of that of earlier runs; NULL: any.
--   probe_job_name        Job that probes its targets; NULL: none, or it no longer exists.
--   probe_every_seconds   How often it does during the bake; NULL: once, at the end.
--   probe_check           What the probe must return on each target, in words; NULL: anything.
--   run_id                Its latest run; NULL: it has not started.
--   probe_run_id          The latest run of its probe; NULL: none.
--   before_run_id         The run of its probe before it, with whose numbers those after it are compared; NULL: none.
--   started_at            When it started (UTC).
--   ended_at              When it passed or was skipped.
--   bake_until            When its bake ends.
--   approved_at, approved_by, approval_comment  Its approval.
--   succeeded, failed, unknown, unreached  Its targets with each outcome, when they were last counted; failed counts the unknown ones, too.
--                         NULL: they were not counted yet.
--   median_ms, usual_ms   Median durations of its targets and of earlier runs, if there is a gate about them.
--   gate                  What the gates found, in words; before, which of its names are no targets. NULL: they were not evaluated yet.
--   preflight_run_id      The latest run of its preflight; NULL: none.
--   preflight_failed      Number of its targets that failed the latest preflight, as far as they are counted; NULL: there was none.
--   left_out              Number of its targets that are left out because of it.
CREATE OR ALTER VIEW jobs.rollout_waves
AS
SELECT
    e.job_execution_id,
    w.wave,
    w.name,
    CASE
        WHEN w.state = N'Pending' AND r.state = N'Starting' AND r.wave = w.wave AND w.approval <> N'none' AND w.approved_at IS NULL
            THEN N'WaitingForApproval'
        ELSE w.state
    END AS state,
    w.targets,
    w.max_parallelism,
    w.pace,
    w.bake_seconds,
    w.approval,
    w.window_name,
    w.max_failed,
    w.max_unknown,
    w.max_unreached,
    w.max_duration_percent,
    j.name AS probe_job_name,
    w.probe_every_seconds,
    w.probe_check,
    x.job_execution_id AS run_id,
    p.job_execution_id AS probe_run_id,
    b.job_execution_id AS before_run_id,
    w.started_at,
    w.ended_at,
    w.bake_until,
    w.approved_at,
    w.approved_by,
    w.approval_comment,
    w.succeeded,
    w.failed,
    w.unknown,
    w.unreached,
    w.median_ms,
    w.usual_ms,
    NULLIF(CONCAT(w.gate, CASE WHEN w.gate IS NULL THEN N'' ELSE N' ' END + w.probe_gate), N'') AS gate,
    f.job_execution_id AS preflight_run_id,
    w.preflight_failed,
    w.left_out
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = e.execution_id
INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = e.execution_id
LEFT JOIN jobs_internal.jobs AS j ON j.job_id = w.probe_job_id AND j.deleted_at IS NULL
LEFT JOIN jobs_internal.visible_runs AS x ON x.execution_id = w.run_id
LEFT JOIN jobs_internal.visible_runs AS p ON p.execution_id = w.probe_run_id
LEFT JOIN jobs_internal.visible_runs AS f ON f.execution_id = w.preflight_run_id
LEFT JOIN jobs_internal.visible_runs AS b ON b.execution_id = w.before_run_id;
