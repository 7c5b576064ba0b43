-- Alerts: one row for each time that something which a rule watches went wrong, until it is resolved. There is at most one unresolved
-- alert of a rule about a subject; further events are counted in it.
--
-- Columns:
--   alert_id         Increases over time.
--   rule_id          The rule. No foreign key: the history outlives rules.
--   rule_name, condition, severity  Of the rule when the alert was raised.
--   subject_key      What the alert is about: job:ID, set aside:JOB, schedule:ID, agent:ID, group:ID, rollout:RUN, with a wave and a time
--                    where it has them, or control. Unique among the unresolved alerts of a rule.
--   subject_kind     Job, Schedule, Agent, TargetGroup or ControlDatabase.
--   subject          Name to show: of the job, of job and schedule, or of the agent's host.
--   job_id           The job, if any. No foreign key.
--   schedule_id      The schedule, if any. No foreign key.
--   agent_id         The agent, if any. No foreign key.
--   job_execution_id  Public id of the latest run that raised it, if any.
--   event_key        The latest event that was counted, so that none is counted twice.
--   state            Open, Acknowledged or Resolved.
--   occurrences      Number of events.
--   first_at, last_at  Time of the first and of the latest event.
--   raised_at        When the alert was made.
--   title            One line.
--   message          Text of some lines.
--   acknowledged_at, acknowledged_by, acknowledge_note  Who looks after it; NULL: nobody yet.
--   resolved_at, resolve_reason  When and why it was resolved; NULL: it is not.
--   notify_at        When the next notification is due; NULL: none is.
--   notified_at      When the latest notification was made; NULL: none was.
--   notifications    Number of notifications.
CREATE TABLE jobs_internal.alerts (
    alert_id         BIGINT NOT NULL IDENTITY(1, 1),
    rule_id          INT NOT NULL,
    rule_name        NVARCHAR(128) NOT NULL,
    condition        NVARCHAR(30) NOT NULL,
    severity         NVARCHAR(10) NOT NULL,
    subject_key      NVARCHAR(100) NOT NULL,
    subject_kind     NVARCHAR(20) NOT NULL,
    subject          NVARCHAR(400) NOT NULL,
    job_id           UNIQUEIDENTIFIER NULL,
    schedule_id      BIGINT NULL,
    agent_id         UNIQUEIDENTIFIER NULL,
    job_execution_id UNIQUEIDENTIFIER NULL,
    event_key        NVARCHAR(100) NOT NULL,
    state            NVARCHAR(20) NOT NULL,
    occurrences      BIGINT NOT NULL,
    first_at         DATETIME2(7) NOT NULL,
    last_at          DATETIME2(7) NOT NULL,
    raised_at        DATETIME2(7) NOT NULL,
    title            NVARCHAR(400) NOT NULL,
    message          NVARCHAR(MAX) NOT NULL,
    acknowledged_at  DATETIME2(7) NULL,
    acknowledged_by  NVARCHAR(128) NULL,
    acknowledge_note NVARCHAR(1000) NULL,
    resolved_at      DATETIME2(7) NULL,
    resolve_reason   NVARCHAR(1000) NULL,
    notify_at        DATETIME2(7) NULL,
    notified_at      DATETIME2(7) NULL,
    notifications    INT NOT NULL,
    CONSTRAINT PK_alerts PRIMARY KEY (alert_id),
    CONSTRAINT CK_alerts_state CHECK (
        (state = N'Open' AND resolved_at IS NULL)
        OR (state = N'Acknowledged' AND resolved_at IS NULL AND acknowledged_at IS NOT NULL AND notify_at IS NULL)
        OR (state = N'Resolved' AND resolved_at IS NOT NULL AND notify_at IS NULL)
    )
);

CREATE UNIQUE INDEX UQ_alerts_subject_key ON jobs_internal.alerts (rule_id, subject_key)
    INCLUDE (resolved_at)
    WHERE resolved_at IS NULL;
CREATE INDEX IX_alerts_notify_at ON jobs_internal.alerts (notify_at)
    WHERE notify_at IS NOT NULL;
-- The latest notification about a subject, for the throttle.
CREATE INDEX IX_alerts_notified_at ON jobs_internal.alerts (rule_id, subject_key, notified_at)
    WHERE notified_at IS NOT NULL;
CREATE INDEX IX_alerts_resolved_at ON jobs_internal.alerts (resolved_at)
    WHERE resolved_at IS NOT NULL;

-- A table lock of the purge would block evaluations and acknowledgements (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.alerts SET (LOCK_ESCALATION = DISABLE);
