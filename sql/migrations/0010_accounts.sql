-- Makes the tables of job agents (accounts) and their operations, and permits limits of scope Agent.
CREATE TABLE jobs_internal.job_agent (
    id           TINYINT NOT NULL CONSTRAINT DF_job_agent_id DEFAULT 1,
    name         NVARCHAR(128) NULL,
    location     NVARCHAR(128) NULL,
    sku          NVARCHAR(20) NULL,
    capacity     INT NULL,
    identity_id  NVARCHAR(1000) NULL,
    tags         NVARCHAR(MAX) NULL,
    state        NVARCHAR(20) NOT NULL CONSTRAINT DF_job_agent_state DEFAULT N'None',
    reason       NVARCHAR(2000) NULL,
    disabled_by  NVARCHAR(128) NULL,
    operation_id UNIQUEIDENTIFIER NULL,
    created_at   DATETIME2(7) NULL,
    changed_at   DATETIME2(7) NULL,
    CONSTRAINT PK_job_agent PRIMARY KEY (id),
    CONSTRAINT CK_job_agent_id CHECK (id = 1),
    CONSTRAINT CK_job_agent_state CHECK (
        state IN (N'None', N'Creating', N'Ready', N'Updating', N'Disabled', N'Faulted', N'Deleting', N'Deleted')
    ),
    CONSTRAINT CK_job_agent_name CHECK (
        (state IN (N'None', N'Deleted') AND name IS NULL AND capacity IS NULL)
        OR (state NOT IN (N'None', N'Deleted') AND name IS NOT NULL AND sku IS NOT NULL AND capacity >= 1)
    ),
    CONSTRAINT CK_job_agent_operation_id CHECK (
        (state IN (N'Creating', N'Updating', N'Deleting') AND operation_id IS NOT NULL)
        OR (state NOT IN (N'Creating', N'Updating', N'Deleting') AND operation_id IS NULL)
    )
);

INSERT INTO jobs_internal.job_agent (id)
VALUES (1);

CREATE TABLE jobs_internal.job_agent_operations (
    operation_id  UNIQUEIDENTIFIER NOT NULL,
    kind          NVARCHAR(20) NOT NULL,
    agent_name    NVARCHAR(128) NOT NULL,
    status        NVARCHAR(20) NOT NULL CONSTRAINT DF_job_agent_operations_status DEFAULT N'InProgress',
    error_code    NVARCHAR(100) NULL,
    error_message NVARCHAR(2000) NULL,
    from_state    NVARCHAR(20) NOT NULL,
    location      NVARCHAR(128) NULL,
    sku           NVARCHAR(20) NULL,
    capacity      INT NULL,
    identity_id   NVARCHAR(1000) NULL,
    tags          NVARCHAR(MAX) NULL,
    holder        UNIQUEIDENTIFIER NULL,
    held_until    DATETIME2(7) NULL,
    attempts      INT NOT NULL CONSTRAINT DF_job_agent_operations_attempts DEFAULT 0,
    started_at    DATETIME2(7) NOT NULL,
    started_by    NVARCHAR(128) NOT NULL,
    ended_at      DATETIME2(7) NULL,
    CONSTRAINT PK_job_agent_operations PRIMARY KEY (operation_id),
    CONSTRAINT CK_job_agent_operations_kind CHECK (kind IN (N'UpsertJobAccount', N'DropJobAccount')),
    CONSTRAINT CK_job_agent_operations_status CHECK (
        (status = N'InProgress' AND ended_at IS NULL) OR (status IN (N'Succeeded', N'Failed') AND ended_at IS NOT NULL)
    )
);

CREATE UNIQUE INDEX UQ_job_agent_operations_status ON jobs_internal.job_agent_operations (status)
    WHERE status = N'InProgress';

ALTER TABLE jobs_internal.limits DROP CONSTRAINT CK_limits_scope;
ALTER TABLE jobs_internal.limits WITH CHECK
    ADD CONSTRAINT CK_limits_scope CHECK (scope IN (N'Job', N'Server', N'ElasticPool', N'Credential', N'Agent'));
ALTER TABLE jobs_internal.terms DROP CONSTRAINT CK_terms_end_reason;
ALTER TABLE jobs_internal.terms WITH CHECK
    ADD CONSTRAINT CK_terms_end_reason CHECK (end_reason IN (N'Ended', N'Replaced', N'Expired', N'Outdated', N'Deleted'));
