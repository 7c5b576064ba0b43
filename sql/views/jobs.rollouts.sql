-- Roll-outs: runs of jobs with a plan. A roll-out has the id of its own run.
--
-- Columns:
--   job_execution_id  The roll-out: the id of its own run.
--   job_name          Name of the job.
--   job_id            Id of the job.
--   job_version       Version of the job, whose plan it follows.
--   state             Planning (its target groups are resolved), Assigning (targets are assigned to waves), WaitingForApproval,
--                     WaitingForWindow (of the next wave), Paused, Starting, Preflight (what the scripts of the wave need is checked),
--                     Running, Recording (a wave has run, and its targets are counted), Baking, Probing, Stopped (a gate has failed: a
--                     person retries or skips the wave, or aborts), Aborting; or, at its end, Succeeded, Aborted or Failed.
--   wave              Number of the current wave, from 1; 0: none yet.
--   waves             Number of its waves.
--   wave_name         Name of the current wave; NULL: none.
--   targets           Number of its targets; NULL: it is not known yet.
--   succeeded, failed, unknown, unreached  Targets of the waves with each outcome, as far as they are counted; failed counts the unknown
--                     ones, too.
--   left_out          Targets that no wave selects, or that failed the preflight of their wave; NULL: it is not known yet.
--   created_at        When it was started (UTC).
--   started_by        Login that started it; NULL: a schedule.
--   paused_at, paused_by, pause_reason  Since when it is paused, by whom, and why; NULL: it is not.
--   reason            Why it is Stopped, Aborting, Aborted or Failed; NULL: it is not.
--   deadline_at       When it is to have ended, by its plan or by a person; NULL: no deadline is left.
--   next_event        What happens next, in words; NULL: nothing.
--   next_event_at     When it happens, if that is a time; NULL: when something else has happened.
--   undo_of           Roll-out that it undoes; NULL: none.
--   undo_job_name     Job that undoes it, as the plan named it when it began; NULL: none, or it was deleted.
--   ended_at          When it ended; NULL: it has not.
CREATE OR ALTER VIEW jobs.rollouts
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    CASE
        WHEN r.ended_at IS NULL AND r.paused_at IS NOT NULL AND r.state NOT IN (N'Stopped', N'Aborting') THEN N'Paused'
        WHEN r.state = N'Starting' AND w.approval <> N'none' AND w.approved_at IS NULL THEN N'WaitingForApproval'
        WHEN r.state = N'Starting' AND w.window_name IS NOT NULL AND r.window_open_until IS NULL THEN N'WaitingForWindow'
        ELSE r.state
    END AS state,
    CASE WHEN r.wave > c.waves THEN c.waves ELSE r.wave END AS wave,
    c.waves,
    w.name AS wave_name,
    r.targets,
    c.succeeded,
    c.failed,
    c.unknown,
    c.unreached,
    r.targets - c.assigned + c.left_out AS left_out,
    e.create_time AS created_at,
    e.started_by,
    r.paused_at,
    r.paused_by,
    r.pause_reason,
    r.reason,
    r.deadline_at,
    CASE
        WHEN r.ended_at IS NOT NULL THEN NULL
        WHEN r.state = N'Aborting' THEN N'It ends when what runs has ended.'
        WHEN r.state = N'Stopped' THEN CONCAT(N'It waits until somebody retries or skips the wave ''', w.name, N''', or aborts it.')
        WHEN r.paused_at IS NOT NULL THEN N'It waits until somebody resumes it.'
        WHEN r.state = N'Starting' AND w.state = N'Skipped' THEN N'It goes on after the skipped wave.'
        WHEN r.state = N'Starting' AND w.approval = N'any' AND w.approved_at IS NULL
            THEN CONCAT(N'The wave ''', w.name, N''' starts when somebody approves it.')
        WHEN r.state = N'Starting' AND w.approval = N'other' AND w.approved_at IS NULL
            THEN CONCAT(
                N'The wave ''', w.name, N''' starts when somebody other than ', COALESCE(e.started_by, N'the schedule'), N' approves it.'
            )
        WHEN r.state IN (N'Starting', N'Running') AND w.window_name IS NOT NULL AND r.window_open_until IS NULL
            THEN CONCAT(
                N'The wave ''', w.name, N''' ',
                CASE
                    WHEN r.window_fault IS NOT NULL THEN CONCAT(N'waits for its window: ', r.window_fault)
                    ELSE CONCAT(
                        CASE r.state WHEN N'Starting' THEN N'starts' ELSE N'goes on' END,
                        N' when its window (calendar ''', w.window_name, N''') opens.'
                    )
                END
            )
        WHEN r.state = N'Starting' THEN CONCAT(N'The wave ''', w.name, N''' starts.')
        WHEN r.state = N'Preflight' THEN CONCAT(N'The preflight of the wave ''', w.name, N''' ends.')
        WHEN r.state = N'Running' THEN CONCAT(N'The gates of the wave ''', w.name, N''' are evaluated when it has run.')
        WHEN r.state = N'Baking' AND w.probe_at < w.bake_until THEN CONCAT(N'The wave ''', w.name, N''' is probed.')
        WHEN r.state = N'Baking' THEN CONCAT(N'The bake of the wave ''', w.name, N''' ends.')
        WHEN r.state = N'Probing' AND w.run_id IS NULL THEN CONCAT(N'The probe before the wave ''', w.name, N''' ends.')
        WHEN r.state = N'Probing' THEN CONCAT(N'The probe of the wave ''', w.name, N''' ends.')
        ELSE N'Its targets are assigned to waves.'
    END AS next_event,
    CASE
        WHEN r.paused_at IS NOT NULL AND r.state <> N'Baking' THEN NULL
        WHEN r.state IN (N'Starting', N'Running') THEN r.window_opens_at
        WHEN r.state <> N'Baking' THEN NULL
        WHEN w.probe_at < w.bake_until THEN w.probe_at
        ELSE w.bake_until
    END AS next_event_at,
    u.job_execution_id AS undo_of,
    k.name AS undo_job_name,
    r.ended_at
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.rollouts AS r ON r.execution_id = e.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
LEFT JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id AND w.wave = r.wave
LEFT JOIN jobs_internal.jobs AS k ON k.job_id = r.undo_job_id AND k.deleted_at IS NULL
LEFT JOIN jobs_internal.visible_runs AS u ON u.execution_id = r.undo_of
CROSS APPLY (
    SELECT
        COUNT(*) AS waves,
        COALESCE(SUM(v.targets), 0) AS assigned,
        COALESCE(SUM(v.succeeded), 0) AS succeeded,
        COALESCE(SUM(v.failed), 0) AS failed,
        COALESCE(SUM(v.unknown), 0) AS unknown,
        COALESCE(SUM(v.unreached), 0) AS unreached,
        COALESCE(SUM(v.left_out), 0) AS left_out
    FROM jobs_internal.rollout_waves AS v
    WHERE v.execution_id = r.execution_id
) AS c
WHERE j.deleted_at IS NULL;
