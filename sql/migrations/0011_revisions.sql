-- Adds revisions, by which changes name the state that they change, credentials, private endpoints, and the job of a secret.
ALTER TABLE jobs_internal.jobs ADD revision BIGINT NOT NULL CONSTRAINT DF_jobs_revision DEFAULT 1;
ALTER TABLE jobs_internal.job_steps ADD revision BIGINT NOT NULL CONSTRAINT DF_job_steps_revision DEFAULT 1;
ALTER TABLE jobs_internal.target_groups ADD revision BIGINT NOT NULL CONSTRAINT DF_target_groups_revision DEFAULT 1;
ALTER TABLE jobs_internal.secrets ADD job_id UNIQUEIDENTIFIER NULL;

-- A batch of its own: this one is compiled before the columns exist.
EXECUTE sys.sp_executesql N'CREATE INDEX IX_secrets_job_id ON jobs_internal.secrets (job_id)
    WHERE job_id IS NOT NULL;';
CREATE INDEX IX_job_executions_active_create_time ON jobs_internal.job_executions (create_time DESC, job_execution_id)
    WHERE is_active = 1;

CREATE TABLE jobs_internal.credentials (
    name       NVARCHAR(128) NOT NULL,
    username   NVARCHAR(128) NOT NULL,
    revision   BIGINT NOT NULL CONSTRAINT DF_credentials_revision DEFAULT 1,
    created_at DATETIME2(7) NOT NULL,
    updated_at DATETIME2(7) NOT NULL,
    updated_by NVARCHAR(128) NOT NULL,
    CONSTRAINT PK_credentials PRIMARY KEY (name)
);

CREATE TABLE jobs_internal.private_endpoints (
    name                      NVARCHAR(128) NOT NULL,
    private_endpoint_id       NVARCHAR(200) NOT NULL,
    target_server_resource_id NVARCHAR(1000) NOT NULL,
    revision                  BIGINT NOT NULL CONSTRAINT DF_private_endpoints_revision DEFAULT 1,
    created_at                DATETIME2(7) NOT NULL,
    CONSTRAINT PK_private_endpoints PRIMARY KEY (name)
);
