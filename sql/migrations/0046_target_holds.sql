-- Lets databases be paused, and have windows. Attempts that wait for either have a far next_attempt_at, and held_by names what they wait
-- for; no row has one yet.
CREATE TABLE jobs_internal.target_pauses (
    pause_id      BIGINT NOT NULL IDENTITY(1, 1),
    target_id     UNIQUEIDENTIFIER NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    reason        NVARCHAR(1000) NULL,
    paused_at     DATETIME2(7) NOT NULL,
    paused_by     NVARCHAR(128) NULL,
    ends_at       DATETIME2(7) NULL,
    resumed_at    DATETIME2(7) NULL,
    CONSTRAINT PK_target_pauses PRIMARY KEY (pause_id)
);

CREATE UNIQUE INDEX UQ_target_pauses_target_id ON jobs_internal.target_pauses (target_id)
    INCLUDE (ends_at, resumed_at)
    WHERE resumed_at IS NULL;
CREATE INDEX IX_target_pauses_ends_at ON jobs_internal.target_pauses (ends_at)
    INCLUDE (resumed_at)
    WHERE ends_at IS NOT NULL AND resumed_at IS NULL;
CREATE INDEX IX_target_pauses_resumed_at ON jobs_internal.target_pauses (resumed_at)
    WHERE resumed_at IS NOT NULL;

ALTER TABLE jobs_internal.target_executions ADD held_by BIGINT NULL;

-- size: reads all targets of all runs, and none is in it; online in Enterprise, Developer and Azure, otherwise claims and outcomes wait
CREATE INDEX IX_target_executions_held_by ON jobs_internal.target_executions (held_by, target_execution_id)
    INCLUDE (next_attempt_at)
    WHERE held_by IS NOT NULL AND next_attempt_at IS NOT NULL;

-- size: likewise
CREATE INDEX IX_target_executions_holds ON jobs_internal.target_executions (step_execution_id, held_by)
    INCLUDE (next_attempt_at)
    WHERE held_by IS NOT NULL AND next_attempt_at IS NOT NULL;

CREATE TABLE jobs_internal.target_windows (
    window_id      BIGINT NOT NULL IDENTITY(1, 1),
    name           NVARCHAR(128) NOT NULL,
    target_id      UNIQUEIDENTIFIER NULL,
    server_name    NVARCHAR(256) NULL,
    database_name  NVARCHAR(128) NULL,
    tag_filter     NVARCHAR(4000) NULL,
    calendar_name  NVARCHAR(128) NOT NULL,
    blackouts_name NVARCHAR(128) NOT NULL,
    time_zone      NVARCHAR(128) NOT NULL,
    zone_tag       NVARCHAR(128) NOT NULL,
    created_at     DATETIME2(7) NOT NULL,
    updated_at     DATETIME2(7) NOT NULL,
    CONSTRAINT PK_target_windows PRIMARY KEY (window_id),
    CONSTRAINT UQ_target_windows_name UNIQUE (name),
    CONSTRAINT CK_target_windows_target_id CHECK (
        (target_id IS NULL AND server_name IS NULL AND database_name IS NULL AND tag_filter IS NOT NULL)
        OR (target_id IS NOT NULL AND server_name IS NOT NULL AND database_name IS NOT NULL AND tag_filter IS NULL)
    ),
    CONSTRAINT CK_target_windows_calendar_name CHECK (calendar_name <> N'' OR blackouts_name <> N'')
);

CREATE TABLE jobs_internal.window_state (
    id         TINYINT NOT NULL CONSTRAINT DF_window_state_id DEFAULT 1,
    revision   BIGINT NOT NULL,
    changed_at DATETIME2(7) NULL,
    CONSTRAINT PK_window_state PRIMARY KEY (id),
    CONSTRAINT CK_window_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.window_state (revision)
VALUES (0);

CREATE TABLE jobs_internal.window_answers (
    answer_id      BIGINT NOT NULL IDENTITY(1, 1),
    calendar_name  NVARCHAR(128) NOT NULL,
    blackouts_name NVARCHAR(128) NOT NULL,
    time_zone      NVARCHAR(128) NOT NULL,
    check_at       DATETIME2(7) NULL,
    holds_until    DATETIME2(7) NULL,
    is_open        BIT NOT NULL CONSTRAINT DF_window_answers_is_open DEFAULT 0,
    changes_at     DATETIME2(7) NULL,
    fault          NVARCHAR(400) NULL,
    revision       BIGINT NOT NULL,
    released_to    BIGINT NOT NULL CONSTRAINT DF_window_answers_released_to DEFAULT 0,
    CONSTRAINT PK_window_answers PRIMARY KEY (answer_id),
    CONSTRAINT UQ_window_answers_calendar_name UNIQUE (calendar_name, blackouts_name, time_zone)
);

CREATE INDEX IX_window_answers_check_at ON jobs_internal.window_answers (check_at)
    WHERE check_at IS NOT NULL;

CREATE TABLE jobs_internal.gated_targets (
    target_id UNIQUEIDENTIFIER NOT NULL,
    revision  BIGINT NOT NULL,
    CONSTRAINT PK_gated_targets PRIMARY KEY (target_id)
);

ALTER TABLE jobs_internal.gated_targets SET (LOCK_ESCALATION = DISABLE);

CREATE TABLE jobs_internal.target_gates (
    target_id UNIQUEIDENTIFIER NOT NULL,
    answer_id BIGINT NOT NULL,
    CONSTRAINT PK_target_gates PRIMARY KEY (target_id, answer_id)
);

ALTER TABLE jobs_internal.target_gates SET (LOCK_ESCALATION = DISABLE);

ALTER TABLE jobs_internal.job_executions ADD ignore_windows BIT NULL;
