-- Lets jobs have plans by which a run is rolled out in waves. Versions that exist have no plan, so their runs are as before.
ALTER TABLE jobs_internal.job_versions ADD rollout_plan NVARCHAR(MAX) NULL;
ALTER TABLE jobs_internal.job_executions ADD rollout_start NVARCHAR(10) NULL;
ALTER TABLE jobs_internal.job_executions ADD rollout_of BIGINT NULL;
ALTER TABLE jobs_internal.job_executions ADD rollout_wave INT NULL;
ALTER TABLE jobs_internal.job_executions ADD rollout_probe BIT NULL;
ALTER TABLE jobs_internal.job_executions ADD drains BIT NULL;

ALTER TABLE jobs_internal.step_lists DROP CONSTRAINT CK_step_lists_source;
ALTER TABLE jobs_internal.step_lists WITH CHECK ADD CONSTRAINT CK_step_lists_source CHECK (
    (source = N'Parts' AND task_id IS NOT NULL)
    OR (source IN (N'Origin', N'Whole', N'Failed', N'Succeeded', N'Wave') AND task_id IS NULL)
);

CREATE TABLE jobs_internal.rollouts (
    execution_id    BIGINT NOT NULL,
    job_id          UNIQUEIDENTIFIER NOT NULL,
    state           NVARCHAR(10) NOT NULL,
    wave            INT NOT NULL CONSTRAINT DF_rollouts_wave DEFAULT 0,
    next_check_at   DATETIME2(7) NULL,
    read_step       BIGINT NOT NULL CONSTRAINT DF_rollouts_read_step DEFAULT 0,
    read_target     BIGINT NOT NULL CONSTRAINT DF_rollouts_read_target DEFAULT 0,
    targets         INT NULL,
    paused_at       DATETIME2(7) NULL,
    paused_by       NVARCHAR(128) NULL,
    pause_reason    NVARCHAR(2000) NULL,
    reason          NVARCHAR(2000) NULL,
    seed            INT NOT NULL,
    deadline_at     DATETIME2(7) NULL,
    on_gate_failure NVARCHAR(10) NOT NULL,
    cancels_running BIT NOT NULL,
    is_strict       BIT NOT NULL,
    undo_job_id     UNIQUEIDENTIFIER NULL,
    undo_version    INT NULL,
    undo_of         BIGINT NULL,
    undo_states     NVARCHAR(100) NULL,
    preflight       NVARCHAR(10) NOT NULL CONSTRAINT DF_rollouts_preflight DEFAULT N'none',
    preflight_options NVARCHAR(400) NULL,
    window_check_at DATETIME2(7) NULL,
    window_open_until DATETIME2(7) NULL,
    window_opens_at DATETIME2(7) NULL,
    window_fault    NVARCHAR(400) NULL,
    ended_at        DATETIME2(7) NULL,
    CONSTRAINT PK_rollouts PRIMARY KEY (execution_id),
    CONSTRAINT FK_rollouts_job_executions FOREIGN KEY (execution_id) REFERENCES jobs_internal.job_executions (execution_id),
    CONSTRAINT CK_rollouts_state CHECK (
        (ended_at IS NULL
            AND state IN (
                N'Planning', N'Assigning', N'Starting', N'Preflight', N'Running', N'Recording', N'Baking', N'Probing', N'Stopped',
                N'Aborting'
            ))
        OR (ended_at IS NOT NULL AND next_check_at IS NULL AND state IN (N'Succeeded', N'Aborted', N'Failed'))
    ),
    CONSTRAINT CK_rollouts_on_gate_failure CHECK (on_gate_failure IN (N'pause', N'abort')),
    CONSTRAINT CK_rollouts_preflight CHECK (preflight IN (N'none', N'refuse', N'warn', N'leave_out'))
);

CREATE INDEX IX_rollouts_next_check_at ON jobs_internal.rollouts (next_check_at)
    WHERE next_check_at IS NOT NULL;
CREATE INDEX IX_rollouts_window_check_at ON jobs_internal.rollouts (window_check_at)
    WHERE window_check_at IS NOT NULL;
CREATE INDEX IX_rollouts_job_id ON jobs_internal.rollouts (job_id, execution_id)
    INCLUDE (state, ended_at)
    WHERE ended_at IS NULL;

CREATE TABLE jobs_internal.rollout_waves (
    execution_id         BIGINT NOT NULL,
    wave                 INT NOT NULL,
    name                 NVARCHAR(128) NOT NULL,
    state                NVARCHAR(10) NOT NULL CONSTRAINT DF_rollout_waves_state DEFAULT N'Pending',
    selects              NVARCHAR(10) NOT NULL,
    selection            NVARCHAR(MAX) NULL,
    target_order         NVARCHAR(10) NOT NULL,
    order_tag            NVARCHAR(128) NULL,
    quota                INT NULL,
    targets              INT NULL,
    max_parallelism      INT NULL,
    pace                 INT NULL,
    bake_seconds         INT NOT NULL,
    approval             NVARCHAR(10) NOT NULL,
    window_name          NVARCHAR(128) NULL,
    max_failed           INT NOT NULL,
    max_failed_percent   INT NULL,
    max_unknown          INT NOT NULL,
    max_unreached        INT NOT NULL,
    max_unreached_percent INT NULL,
    max_duration_percent INT NULL,
    probe_job_id         UNIQUEIDENTIFIER NULL,
    probe_every_seconds  INT NULL,
    probe_max_rows       INT NULL,
    probe_min_value      BIGINT NULL,
    probe_max_value      BIGINT NULL,
    probe_min_percent    INT NULL,
    probe_max_percent    INT NULL,
    probe_check          NVARCHAR(400) NULL,
    probe_at             DATETIME2(7) NULL,
    before_run_id        BIGINT NULL,
    probe_run_id         BIGINT NULL,
    run_id               BIGINT NULL,
    started_at           DATETIME2(7) NULL,
    ended_at             DATETIME2(7) NULL,
    bake_until           DATETIME2(7) NULL,
    approved_at          DATETIME2(7) NULL,
    approved_by          NVARCHAR(128) NULL,
    approval_comment     NVARCHAR(1000) NULL,
    succeeded            INT NULL,
    failed               INT NULL,
    unknown              INT NULL,
    unreached            INT NULL,
    median_ms            BIGINT NULL,
    usual_ms             BIGINT NULL,
    gate                 NVARCHAR(2000) NULL,
    preflight_run_id     BIGINT NULL,
    preflight_failed     INT NULL,
    left_out             INT NOT NULL CONSTRAINT DF_rollout_waves_left_out DEFAULT 0,
    probe_gate           NVARCHAR(1000) NULL,
    CONSTRAINT PK_rollout_waves PRIMARY KEY (execution_id, wave),
    CONSTRAINT FK_rollout_waves_rollouts FOREIGN KEY (execution_id) REFERENCES jobs_internal.rollouts (execution_id),
    CONSTRAINT CK_rollout_waves_state CHECK (
        state IN (N'Pending', N'Preflight', N'Running', N'Baking', N'Passed', N'Stopped', N'Skipped')
    ),
    CONSTRAINT CK_rollout_waves_selects CHECK (selects IN (N'count', N'percent', N'rest', N'names', N'like', N'tags', N'undo')),
    CONSTRAINT CK_rollout_waves_approval CHECK (approval IN (N'none', N'any', N'other'))
);

CREATE TABLE jobs_internal.rollout_targets (
    execution_id  BIGINT NOT NULL,
    target_id     UNIQUEIDENTIFIER NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    seen          BIGINT NOT NULL,
    wave          INT NOT NULL CONSTRAINT DF_rollout_targets_wave DEFAULT 0,
    place         INT NOT NULL CONSTRAINT DF_rollout_targets_place DEFAULT 0,
    state         NVARCHAR(10) NOT NULL CONSTRAINT DF_rollout_targets_state DEFAULT N'Pending',
    ran           BIT NOT NULL CONSTRAINT DF_rollout_targets_ran DEFAULT 0,
    run_id        BIGINT NULL,
    preflight     NVARCHAR(400) NULL,
    CONSTRAINT PK_rollout_targets PRIMARY KEY (execution_id, target_id),
    CONSTRAINT FK_rollout_targets_rollouts FOREIGN KEY (execution_id) REFERENCES jobs_internal.rollouts (execution_id),
    CONSTRAINT CK_rollout_targets_state CHECK (state IN (N'Pending', N'Succeeded', N'Failed', N'Unknown', N'Unreached', N'LeftOut'))
);

CREATE INDEX IX_rollout_targets_wave ON jobs_internal.rollout_targets (execution_id, wave, place)
    INCLUDE (state);
CREATE INDEX IX_rollout_targets_seen ON jobs_internal.rollout_targets (execution_id, seen)
    INCLUDE (wave);
CREATE INDEX IX_rollout_targets_target_id ON jobs_internal.rollout_targets (target_id, execution_id);

ALTER TABLE jobs_internal.rollout_targets SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.rollout_paces (
    execution_id BIGINT NOT NULL,
    next_at      DATETIME2(7) NOT NULL,
    CONSTRAINT PK_rollout_paces PRIMARY KEY (execution_id),
    CONSTRAINT FK_rollout_paces_rollouts FOREIGN KEY (execution_id) REFERENCES jobs_internal.rollouts (execution_id)
);

CREATE TABLE jobs_internal.rollout_probe_values (
    execution_id BIGINT NOT NULL,
    target_id    UNIQUEIDENTIFIER NOT NULL,
    row_count    BIGINT NOT NULL,
    value        DECIMAL(28, 6) NULL,
    CONSTRAINT PK_rollout_probe_values PRIMARY KEY (execution_id, target_id)
);

ALTER TABLE jobs_internal.rollout_probe_values SET (LOCK_ESCALATION = DISABLE);

ALTER TABLE jobs_internal.alert_rules DROP CONSTRAINT CK_alert_rules_condition;
ALTER TABLE jobs_internal.alert_rules WITH CHECK ADD CONSTRAINT CK_alert_rules_condition CHECK (condition IN (
        N'RunEnded', N'TargetsFailed', N'RunTooLong', N'RunNotStarted', N'NoRun', N'ScheduleFaulted', N'SchedulePaused', N'AgentSilent',
        N'NoAgent', N'RolloutStopped', N'RolloutApprovalWaits', N'RolloutBakeEnds', N'RolloutDeadlineNear', N'TargetsChanged'
    ));
