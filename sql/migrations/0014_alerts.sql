-- Makes the tables of alerts, and an index of paused schedules.
CREATE INDEX IX_schedules_paused_at ON jobs_internal.schedules (paused_at)
    WHERE paused = 1;

CREATE TABLE jobs_internal.alert_channels (
    channel_id    INT NOT NULL IDENTITY(1, 1),
    name          NVARCHAR(128) NOT NULL,
    channel_type  NVARCHAR(50) NOT NULL,
    definition    NVARCHAR(MAX) NOT NULL,
    needs_secrets BIT NOT NULL,
    enabled       BIT NOT NULL,
    created_at    DATETIME2(7) NOT NULL,
    updated_at    DATETIME2(7) NOT NULL,
    CONSTRAINT PK_alert_channels PRIMARY KEY (channel_id),
    CONSTRAINT UQ_alert_channels_name UNIQUE (name),
    CONSTRAINT CK_alert_channels_channel_type CHECK (
        channel_type IN (N'Http', N'StorageQueue', N'ServiceBusQueue', N'ServiceBusTopic', N'Mail', N'Slack', N'Teams')
    )
);

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
    CONSTRAINT PK_alert_rules PRIMARY KEY (rule_id),
    CONSTRAINT UQ_alert_rules_name UNIQUE (name),
    CONSTRAINT CK_alert_rules_condition CHECK (condition IN (
        N'RunEnded', N'TargetsFailed', N'RunTooLong', N'RunNotStarted', N'NoRun', N'ScheduleFaulted', N'SchedulePaused', N'AgentSilent',
        N'NoAgent'
    )),
    CONSTRAINT CK_alert_rules_severity CHECK (severity IN (N'Info', N'Warning', N'Critical')),
    CONSTRAINT CK_alert_rules_job CHECK (job_id IS NULL OR job_pattern IS NULL)
);

CREATE TABLE jobs_internal.alert_rule_channels (
    rule_id    INT NOT NULL,
    channel_id INT NOT NULL,
    CONSTRAINT PK_alert_rule_channels PRIMARY KEY (rule_id, channel_id),
    CONSTRAINT FK_alert_rule_channels_alert_rules FOREIGN KEY (rule_id)
        REFERENCES jobs_internal.alert_rules (rule_id) ON DELETE CASCADE,
    CONSTRAINT FK_alert_rule_channels_alert_channels FOREIGN KEY (channel_id) REFERENCES jobs_internal.alert_channels (channel_id)
);

CREATE INDEX IX_alert_rule_channels_channel_id ON jobs_internal.alert_rule_channels (channel_id);

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
    WHERE resolved_at IS NULL;
CREATE INDEX IX_alerts_notify_at ON jobs_internal.alerts (notify_at)
    WHERE notify_at IS NOT NULL;
CREATE INDEX IX_alerts_notified_at ON jobs_internal.alerts (rule_id, subject_key, notified_at)
    WHERE notified_at IS NOT NULL;
CREATE INDEX IX_alerts_resolved_at ON jobs_internal.alerts (resolved_at)
    WHERE resolved_at IS NOT NULL;

ALTER TABLE jobs_internal.alerts SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.alert_deliveries (
    delivery_id     BIGINT NOT NULL IDENTITY(1, 1),
    notification_id UNIQUEIDENTIFIER NOT NULL,
    alert_id        BIGINT NULL,
    channel_id      INT NOT NULL,
    channel_name    NVARCHAR(128) NOT NULL,
    kind            NVARCHAR(10) NOT NULL,
    title           NVARCHAR(400) NOT NULL,
    message         NVARCHAR(MAX) NOT NULL,
    occurrences     BIGINT NOT NULL,
    last_at         DATETIME2(7) NOT NULL,
    state           NVARCHAR(10) NOT NULL,
    created_at      DATETIME2(7) NOT NULL,
    expires_at      DATETIME2(7) NOT NULL,
    next_attempt_at DATETIME2(7) NULL,
    attempts        INT NOT NULL,
    leased_by       UNIQUEIDENTIFIER NULL,
    leased_until    DATETIME2(7) NULL,
    send_began_at   DATETIME2(7) NULL,
    delivered_at    DATETIME2(7) NULL,
    delivered_by    NVARCHAR(256) NULL,
    last_error      NVARCHAR(2000) NULL,
    CONSTRAINT PK_alert_deliveries PRIMARY KEY (delivery_id),
    CONSTRAINT UQ_alert_deliveries_notification_id UNIQUE (notification_id),
    CONSTRAINT CK_alert_deliveries_kind CHECK (kind IN (N'Raised', N'Again', N'Resolved', N'Test')),
    CONSTRAINT CK_alert_deliveries_state CHECK (
        (state = N'Pending' AND next_attempt_at IS NOT NULL)
        OR (state IN (N'Delivered', N'Failed', N'Canceled') AND next_attempt_at IS NULL)
    )
);

CREATE INDEX IX_alert_deliveries_next_attempt_at ON jobs_internal.alert_deliveries (next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX IX_alert_deliveries_alert_id ON jobs_internal.alert_deliveries (alert_id)
    WHERE alert_id IS NOT NULL;

ALTER TABLE jobs_internal.alert_deliveries SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.alert_runs (
    execution_id BIGINT NOT NULL,
    CONSTRAINT PK_alert_runs PRIMARY KEY (execution_id)
);

ALTER TABLE jobs_internal.alert_runs SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.alert_run_limits (
    rule_id        INT NOT NULL,
    execution_id   BIGINT NOT NULL,
    is_computed    BIT NOT NULL CONSTRAINT DF_alert_run_limits_is_computed DEFAULT 0,
    limit_at       DATETIME2(7) NULL,
    median_seconds DECIMAL(18, 3) NULL,
    is_raised      BIT NOT NULL CONSTRAINT DF_alert_run_limits_is_raised DEFAULT 0,
    CONSTRAINT PK_alert_run_limits PRIMARY KEY (rule_id, execution_id)
);

CREATE TABLE jobs_internal.alert_state (
    id           TINYINT NOT NULL CONSTRAINT DF_alert_state_id DEFAULT 1,
    evaluated_at DATETIME2(7) NOT NULL,
    slow_at      DATETIME2(7) NOT NULL,
    evaluated_by NVARCHAR(128) NULL,
    CONSTRAINT PK_alert_state PRIMARY KEY (id),
    CONSTRAINT CK_alert_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.alert_state (evaluated_at, slow_at)
VALUES ('2000-01-01', '2000-01-01');
