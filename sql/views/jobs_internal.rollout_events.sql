-- What people are told of the active roll-outs: one row for each condition of alerts that a roll-out meets, or will meet. The texts say
-- what happens next, when, and with which commands to act.
--
-- Columns:
--   condition         RolloutStopped, RolloutApprovalWaits, RolloutBakeEnds or RolloutDeadlineNear.
--   subject_key       Of the alert: the roll-out, with its wave and the end of its bake if these matter.
--   event_key         Tells two events about a subject apart: a wave that stopped, and a retry of it that stopped, too.
--   job_id, job_execution_id  The job, and the roll-out.
--   due_at            When the bake ends, or the deadline is; NULL: the condition is met.
--   at                Since when it is so; NULL: see due_at.
--   title             One line; an asterisk stands for the name of the job.
--   message           Text of some lines.
CREATE OR ALTER VIEW jobs_internal.rollout_events
AS
SELECT
    c.condition,
    c.subject_key,
    c.event_key,
    r.job_id,
    v.job_execution_id,
    c.due_at,
    c.at,
    c.title,
    CONCAT(
        c.message, NCHAR(10), N'To look at it: jobagent rollout show ', l.id, NCHAR(10),
        CASE c.condition
            WHEN N'RolloutApprovalWaits' THEN CONCAT(
                N'To approve: jobagent rollout approve ', l.id, N' (sp_approve_rollout); to refuse, with a reason: ',
                N'jobagent rollout reject ', l.id, N' (sp_reject_rollout).'
            )
            WHEN N'RolloutBakeEnds' THEN CONCAT(
                N'For more time: jobagent rollout extend ', l.id, N' 1h (sp_extend_rollout_bake)',
                CASE WHEN r.paused_at IS NULL THEN CONCAT(N', or jobagent rollout pause ', l.id, N' (sp_pause_rollout)') END, N'.'
            )
            WHEN N'RolloutDeadlineNear' THEN CONCAT(
                N'For more time: jobagent rollout extend-deadline ', l.id, N' 1d (sp_extend_rollout_deadline); to end it: ',
                N'jobagent rollout abort ', l.id, N' (sp_abort_rollout).'
            )
            ELSE CONCAT(
                CASE
                    WHEN r.state = N'Stopped' THEN CONCAT(
                        N'To repeat what did not succeed: jobagent rollout retry ', l.id, N' (sp_retry_rollout_wave); to leave it as ',
                        N'it is: jobagent rollout skip ', l.id, N' (sp_skip_rollout_wave)'
                    )
                    ELSE CONCAT(N'To let it go on: jobagent rollout resume ', l.id, N' (sp_resume_rollout)')
                END,
                N'; to end it: jobagent rollout abort ', l.id, N' (sp_abort_rollout).'
            )
        END
    ) AS message
FROM jobs_internal.rollouts AS r
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = r.execution_id
INNER JOIN jobs.rollouts AS v ON v.job_execution_id = e.job_execution_id
LEFT JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id AND w.wave = r.wave
CROSS APPLY (SELECT CAST(e.job_execution_id AS NVARCHAR(36)) AS id) AS l
-- The next wave that has targets, and since when the current one could start.
OUTER APPLY (
    SELECT TOP (1) n.name, n.targets, n.approval
    FROM jobs_internal.rollout_waves AS n
    WHERE n.execution_id = r.execution_id
        AND n.wave > r.wave
        AND n.state = N'Pending'
        AND n.targets > 0
    ORDER BY n.wave
) AS n
OUTER APPLY (
    SELECT MAX(b.ended_at) AS ended_at
    FROM jobs_internal.rollout_waves AS b
    WHERE b.execution_id = r.execution_id
        AND b.wave < r.wave
) AS b
OUTER APPLY (
    SELECT MAX(u.end_time) AS end_time
    FROM jobs_internal.job_executions AS u
    WHERE u.execution_id IN (w.run_id, w.probe_run_id)
) AS u
CROSS APPLY (
    SELECT
        N'RolloutStopped' AS condition,
        CONCAT(N'rollout:', r.execution_id, N':', r.wave) AS subject_key,
        CONCAT(N'stopped:', w.run_id, N':', w.probe_run_id) AS event_key,
        CAST(NULL AS DATETIME2(7)) AS due_at,
        COALESCE(u.end_time, e.create_time) AS at,
        N'The roll-out of the job * has stopped' AS title,
        CONCAT(r.reason, NCHAR(10), v.next_event, N' The deadline is ' + CONVERT(NVARCHAR(19), r.deadline_at, 126) + N'Z.') AS message
    WHERE r.state = N'Stopped'
    UNION ALL
    SELECT
        N'RolloutStopped',
        CONCAT(N'rollout:', r.execution_id, N':', r.wave),
        N'paused',
        CAST(NULL AS DATETIME2(7)),
        r.paused_at,
        CASE r.paused_by
            WHEN N'(deadline)' THEN N'The roll-out of the job * has stopped at its deadline'
            ELSE N'The roll-out of the job * does not start: a wave has no targets'
        END,
        CONCAT(r.pause_reason, NCHAR(10), v.next_event)
    WHERE r.paused_by IN (N'(deadline)', N'(empty wave)')
        AND v.state = N'Paused'
    UNION ALL
    SELECT
        N'RolloutApprovalWaits',
        CONCAT(N'rollout:', r.execution_id, N':', r.wave),
        N'approval',
        CAST(NULL AS DATETIME2(7)),
        COALESCE(b.ended_at, e.create_time),
        N'The roll-out of the job * waits for an approval',
        CONCAT(
            v.next_event, N' It has ', w.targets, CASE WHEN w.targets = 1 THEN N' target.' ELSE N' targets.' END,
            N' The deadline is ' + CONVERT(NVARCHAR(19), r.deadline_at, 126) + N'Z.'
        )
    WHERE v.state = N'WaitingForApproval'
    UNION ALL
    SELECT
        N'RolloutBakeEnds',
        CONCAT(N'rollout:', r.execution_id, N':', r.wave, N':', CONVERT(NVARCHAR(33), w.bake_until, 126)),
        N'bake',
        w.bake_until,
        CAST(NULL AS DATETIME2(7)),
        N'A bake in the roll-out of the job * ends soon',
        CONCAT(
            N'The bake of the wave ''', w.name, N''' ends at ', CONVERT(NVARCHAR(19), w.bake_until, 126), N'Z.',
            CASE WHEN w.probe_job_id IS NOT NULL THEN N' It is probed then.' END,
            CASE
                WHEN n.name IS NULL THEN N' It is the last one, so the roll-out ends then.'
                WHEN r.paused_at IS NOT NULL THEN CONCAT(
                    N' The wave ''', n.name, N''' does not start then, because the roll-out is paused.'
                )
                WHEN n.approval <> N'none' THEN CONCAT(N' The wave ''', n.name, N''' needs an approval then.')
                ELSE CONCAT(N' The wave ''', n.name, N''' starts then, on ', n.targets, N' of ', r.targets, N' targets.')
            END
        )
    WHERE r.state IN (N'Baking', N'Probing')
        AND w.bake_until IS NOT NULL
    UNION ALL
    SELECT
        N'RolloutDeadlineNear',
        CONCAT(N'rollout:', r.execution_id),
        N'deadline',
        r.deadline_at,
        CAST(NULL AS DATETIME2(7)),
        N'The deadline of the roll-out of the job * is near',
        CONCAT(
            N'It is to have ended by ', CONVERT(NVARCHAR(19), r.deadline_at, 126), N'Z; ', v.succeeded, N' of ', r.targets,
            N' targets have succeeded. ',
            CASE
                WHEN r.on_gate_failure = N'abort' THEN N'If it has not ended then, it is aborted.'
                ELSE N'If it has not ended then, it pauses until somebody resumes it.'
            END,
            NCHAR(10), v.next_event, N' (' + CONVERT(NVARCHAR(19), v.next_event_at, 126) + N'Z)'
        )
    WHERE r.deadline_at IS NOT NULL
        AND r.state <> N'Aborting'
) AS c
WHERE r.ended_at IS NULL;
