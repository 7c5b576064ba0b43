-- Alerts: the history of what rules have found. To be read by alert_id, by state, or from the end.
--
-- Columns:
--   alert_id          Increases over time.
--   alert_name        Name of the rule when it was raised.
--   condition         Condition of the rule.
--   severity          Info, Warning or Critical.
--   state             Open, Acknowledged or Resolved.
--   subject_kind      Job, Schedule, Agent, TargetGroup or ControlDatabase.
--   subject           What it is about, to show.
--   job_id            The job, if any.
--   job_name          Its name now; NULL: none, or the job was deleted.
--   schedule_name     The schedule, if any; empty: the schedule of jobs.sp_add_job.
--   agent_id          The agent, if any.
--   job_execution_id  The latest run that raised it, if any.
--   occurrences       Number of events that were counted.
--   first_time        Time of the first event (UTC, as all times).
--   last_time         Time of the latest event.
--   raised_time       When the alert was raised.
--   title             One line.
--   message           Text of some lines.
--   acknowledged_time, acknowledged_by, acknowledge_note  Who acknowledged it, and the note.
--   resolved_time, resolve_reason  When and why it was resolved.
--   next_notification_time  When the next notification is due; NULL: none is.
--   notified_time     When the latest notification was made.
--   notifications     Number of notifications.
--   delivered_time    When a notification was last delivered.
--   pending_deliveries  Number of deliveries under way.
--   delivery_attempts   Number of attempts of all its deliveries.
--   last_delivery_error  Error of the latest delivery that has one.
--
-- Plan: per alert a range of IX_alert_deliveries_alert_id.
CREATE OR ALTER VIEW jobs.alerts
AS
SELECT
    a.alert_id,
    a.rule_name AS alert_name,
    a.condition,
    a.severity,
    a.state,
    a.subject_kind,
    a.subject,
    a.job_id,
    j.name AS job_name,
    s.name AS schedule_name,
    a.agent_id,
    a.job_execution_id,
    a.occurrences,
    a.first_at AS first_time,
    a.last_at AS last_time,
    a.raised_at AS raised_time,
    a.title,
    a.message,
    a.acknowledged_at AS acknowledged_time,
    a.acknowledged_by,
    a.acknowledge_note,
    a.resolved_at AS resolved_time,
    a.resolve_reason,
    a.notify_at AS next_notification_time,
    a.notified_at AS notified_time,
    a.notifications,
    d.delivered_at AS delivered_time,
    COALESCE(d.pending, 0) AS pending_deliveries,
    COALESCE(d.attempts, 0) AS delivery_attempts,
    (
        SELECT TOP (1) f.last_error
        FROM jobs_internal.alert_deliveries AS f
        WHERE f.alert_id = a.alert_id
            AND f.alert_id IS NOT NULL
            AND f.last_error IS NOT NULL
        ORDER BY f.delivery_id DESC
    ) AS last_delivery_error
FROM jobs_internal.alerts AS a
LEFT JOIN jobs_internal.jobs AS j ON j.job_id = a.job_id AND j.deleted_at IS NULL
LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = a.schedule_id
OUTER APPLY (
    SELECT
        MAX(x.delivered_at) AS delivered_at,
        SUM(CASE WHEN x.state = N'Pending' THEN 1 ELSE 0 END) AS pending,
        SUM(x.attempts) AS attempts
    FROM jobs_internal.alert_deliveries AS x
    WHERE x.alert_id = a.alert_id
        AND x.alert_id IS NOT NULL
) AS d;
