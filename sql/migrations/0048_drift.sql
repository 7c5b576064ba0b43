-- Keeps the schemas of databases that steps of type Drift have read, with their history.
CREATE TABLE jobs_internal.drift_schemas (
    fingerprint BINARY(32) NOT NULL,
    options     NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
    objects     INT NOT NULL,
    parts       VARBINARY(MAX) NULL,
    created_at  DATETIME2(7) NOT NULL,
    CONSTRAINT PK_drift_schemas PRIMARY KEY (fingerprint, options)
);

CREATE TABLE jobs_internal.drift_states (
    target_id     UNIQUEIDENTIFIER NOT NULL,
    options       NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
    first_seen_at DATETIME2(7) NOT NULL,
    last_seen_at  DATETIME2(7) NOT NULL,
    fingerprint   BINARY(32) NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    changes       NVARCHAR(2000) NULL,
    CONSTRAINT PK_drift_states PRIMARY KEY (target_id, options, first_seen_at)
);

CREATE INDEX IX_drift_states_fingerprint ON jobs_internal.drift_states (fingerprint);

CREATE TABLE jobs_internal.drift_baselines (
    name        NVARCHAR(128) NOT NULL,
    options     NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
    fingerprint BINARY(32) NOT NULL,
    source      NVARCHAR(400) NOT NULL,
    set_at      DATETIME2(7) NOT NULL,
    set_by      NVARCHAR(128) NULL,
    CONSTRAINT PK_drift_baselines PRIMARY KEY (name, options)
);

CREATE TABLE jobs_internal.drift_references (
    step_execution_id BIGINT NOT NULL,
    fingerprint       BINARY(32) NULL,
    description       NVARCHAR(500) NOT NULL,
    created_at        DATETIME2(7) NOT NULL,
    CONSTRAINT PK_drift_references PRIMARY KEY (step_execution_id)
);
