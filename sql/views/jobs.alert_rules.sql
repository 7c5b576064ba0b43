-- Rules: when an alert is raised, and who is told. jobs.sp_add_alert describes the conditions.
--
-- Columns:
--   alert_name        Name of the rule; unique.
--   description       Free text.
--   condition         RunEnded, TargetsFailed, RunTooLong, RunNotStarted, NoRun, ScheduleFaulted, SchedulePaused, AgentSilent, NoAgent,
--                     RolloutStopped, RolloutApprovalWaits, RolloutBakeEnds, RolloutDeadlineNear or TargetsChanged.
--   job_name          The job that the rule watches; NULL: see job_pattern, or the job was deleted.
--   job_id            Id of that job.
--   job_pattern       Names of the watched jobs, with * and ?; NULL: one job, or all jobs.
--   lifecycles        Lifecycles of runs, separated by commas.
--   percent_failed    Least share of targets that did not succeed, in percent.
--   factor            Multiple of the median duration.
--   runs              Number of runs in the median.
--   seconds           Grace period or age, in seconds.
--   severity          Info, Warning or Critical.
--   throttle_seconds  Least time between two notifications about the same subject.
--   repeat_seconds    Time after which an open alert is notified again; NULL: never.
--   notify_resolved   1: notify when the alert is resolved.
--   enabled           0: the rule raises nothing.
--   muted_until       No notifications before this time (UTC); NULL: not muted.
--   muted_by          Who muted it last.
--   mute_note         Why.
--   channels          JSON array of the names of its channels.
--   open_alerts       Number of its alerts that are Open or Acknowledged.
--   created_time      When the rule was added (UTC).
--   updated_time      When the rule was changed (UTC).
--   percent_changed   Least share of the databases of a target group that came or went, in percent.
--   target_group_pattern  Names of the watched target groups, with * and ?; NULL: all, or the condition is not about target groups.
CREATE OR ALTER VIEW jobs.alert_rules
AS
SELECT
    r.name AS alert_name,
    r.description,
    r.condition,
    j.name AS job_name,
    r.job_id,
    r.job_pattern,
    r.lifecycles,
    r.percent_failed,
    r.factor,
    r.runs,
    r.seconds,
    r.severity,
    r.throttle_seconds,
    r.repeat_seconds,
    r.notify_resolved,
    r.enabled,
    r.muted_until,
    r.muted_by,
    r.mute_note,
    COALESCE((
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(c.name, 'json'), N'"') AS NVARCHAR(MAX)), N',')
            WITHIN GROUP (ORDER BY c.name), N']')
        FROM jobs_internal.alert_rule_channels AS x
        INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = x.channel_id
        WHERE x.rule_id = r.rule_id
    ), N'[]') AS channels,
    (
        SELECT COUNT(*)
        FROM jobs_internal.alerts AS a
        WHERE a.rule_id = r.rule_id
            AND a.resolved_at IS NULL
    ) AS open_alerts,
    r.created_at AS created_time,
    r.updated_at AS updated_time,
    r.percent_changed,
    r.group_pattern AS target_group_pattern
FROM jobs_internal.alert_rules AS r
LEFT JOIN jobs_internal.jobs AS j ON j.job_id = r.job_id AND j.deleted_at IS NULL;
