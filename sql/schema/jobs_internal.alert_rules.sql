-- Rules: when an alert is raised, and who is told. jobs.sp_add_alert describes the conditions.
--
-- Columns:
--   rule_id          Internal key.
--   name             Unique.
--   description      Free text; empty if none was given.
--   condition        RunEnded, TargetsFailed, RunTooLong, RunNotStarted, NoRun, ScheduleFaulted, SchedulePaused, AgentSilent, NoAgent,
--                    RolloutStopped, RolloutApprovalWaits, RolloutBakeEnds, RolloutDeadlineNear or TargetsChanged.
--   watches_runs     1: the condition is about runs that end, so runs that end are entered in alert_runs.
--   job_id           The job that the rule watches; NULL: see job_pattern. No foreign key: a rule outlives its job, and then has no effect.
--   job_pattern      Names of the watched jobs, with * and ?; NULL: job_id, or all jobs.
--   lifecycles       Lifecycles of runs, separated by commas: those that raise (RunEnded), or those that count (NoRun). NULL for others.
--   percent_failed   TargetsFailed: least share of targets that did not succeed, in percent.
--   factor           RunTooLong: multiple of the median.
--   runs             RunTooLong: number of runs in the median.
--   seconds          Grace period or age; 0 where the condition has none.
--   severity         Info, Warning or Critical.
--   throttle_seconds  Least time between two notifications about the same subject.
--   repeat_seconds   Time after which an open alert is notified again without a new event; NULL: never.
--   notify_resolved  1: notify when the alert is resolved, unless it was acknowledged.
--   enabled          0: raises nothing; open alerts are resolved.
--   muted_until      No notifications are made before this time; NULL: not muted.
--   muted_by, mute_note  Who muted it last, and why.
--   created_at       When the rule was added.
--   updated_at       When the rule was changed.
--   watches_from     When it was added or last enabled, or its condition last changed: nothing before counts.
--   percent_changed  TargetsChanged: least share of the databases of a target group that came or went, in percent of those that it had.
--   group_pattern    TargetsChanged: names of the watched target groups, with * and ?; NULL: all.
CREATE TABLE jobs_internal.alert_rules (
    rule_id          INT NOT NULL IDENTITY(1, 1),
    name             NVARCHAR(128) NOT NULL,
    description      NVARCHAR(512) NOT NULL CONSTRAINT DF_alert_rules_description DEFAULT N'',
    condition        NVARCHAR(30) NOT NULL,
    watches_runs     BIT NOT NULL,
    job_id           UNIQUEIDENTIFIER NULL,
    job_pattern      NVARCHAR(128) NULL,
    lifecycles       NVARCHAR(200) NULL,
    percent_failed   DECIMAL(5, 2) NULL,
    factor           DECIMAL(9, 2) NULL,
    runs             INT NULL,
    seconds          INT NOT NULL,
    severity         NVARCHAR(10) NOT NULL,
    throttle_seconds INT NOT NULL,
    repeat_seconds   INT NULL,
    notify_resolved  BIT NOT NULL,
    enabled          BIT NOT NULL,
    muted_until      DATETIME2(7) NULL,
    muted_by         NVARCHAR(128) NULL,
    mute_note        NVARCHAR(1000) NULL,
    created_at       DATETIME2(7) NOT NULL,
    updated_at       DATETIME2(7) NOT NULL,
    watches_from     DATETIME2(7) NOT NULL,
    percent_changed  DECIMAL(9, 2) NULL,
    group_pattern    NVARCHAR(128) NULL,
    CONSTRAINT PK_alert_rules PRIMARY KEY (rule_id),
    CONSTRAINT UQ_alert_rules_name UNIQUE (name),
    CONSTRAINT CK_alert_rules_condition CHECK (condition IN (
        N'RunEnded', N'TargetsFailed', N'RunTooLong', N'RunNotStarted', N'NoRun', N'ScheduleFaulted', N'SchedulePaused', N'AgentSilent',
        N'NoAgent', N'RolloutStopped', N'RolloutApprovalWaits', N'RolloutBakeEnds', N'RolloutDeadlineNear', N'TargetsChanged'
    )),
    CONSTRAINT CK_alert_rules_severity CHECK (severity IN (N'Info', N'Warning', N'Critical')),
    CONSTRAINT CK_alert_rules_job CHECK (job_id IS NULL OR job_pattern IS NULL)
);
