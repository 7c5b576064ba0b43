-- Makes the schema and the tables of the SAP surface, and the ids of the next runs of its schedules.
EXECUTE (N'CREATE SCHEMA jobs_rest AUTHORIZATION dbo;');

ALTER TABLE jobs_internal.schedules ADD
    next_run_id      UNIQUEIDENTIFIER NULL,
    next_run_made_at DATETIME2(7) NULL;

CREATE TABLE jobs_internal.tenants (
    tenant_id     NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    subdomain     NVARCHAR(256) NOT NULL,
    is_provider   BIT NOT NULL CONSTRAINT DF_tenants_is_provider DEFAULT 0,
    is_subscribed BIT NOT NULL CONSTRAINT DF_tenants_is_subscribed DEFAULT 1,
    created_at    DATETIME2(7) NOT NULL,
    CONSTRAINT PK_tenants PRIMARY KEY (tenant_id)
);

CREATE TABLE jobs_internal.tenant_subscriptions (
    tenant_id  NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    app        NVARCHAR(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_tenant_subscriptions PRIMARY KEY (tenant_id, app),
    CONSTRAINT FK_tenant_subscriptions_tenants FOREIGN KEY (tenant_id) REFERENCES jobs_internal.tenants (tenant_id)
);

CREATE TABLE jobs_internal.rest_jobs (
    rest_job_id     INT NOT NULL IDENTITY(1, 1),
    job_id          UNIQUEIDENTIFIER NOT NULL,
    tenant_id       NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    name            NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    description     NVARCHAR(MAX) NOT NULL,
    action          NVARCHAR(2048) NOT NULL,
    http_method     NVARCHAR(10) NOT NULL,
    active          BIT NOT NULL,
    start_at        DATETIME2(7) NULL,
    end_at          DATETIME2(7) NULL,
    start_text      NVARCHAR(4000) NULL,
    end_text        NVARCHAR(4000) NULL,
    user_name       NVARCHAR(1024) NULL,
    password_name   NVARCHAR(128) NULL,
    credential_name NVARCHAR(128) NULL,
    allow_http      BIT NOT NULL CONSTRAINT DF_rest_jobs_allow_http DEFAULT 0,
    ans_config      NVARCHAR(4000) NULL,
    calm_config     NVARCHAR(4000) NULL,
    job_type        NVARCHAR(20) NOT NULL CONSTRAINT DF_rest_jobs_job_type DEFAULT N'HTTP_ENDPOINT',
    created_at      DATETIME2(7) NOT NULL,
    updated_at      DATETIME2(7) NOT NULL,
    CONSTRAINT PK_rest_jobs PRIMARY KEY (rest_job_id),
    CONSTRAINT UQ_rest_jobs_job_id UNIQUE (job_id),
    CONSTRAINT UQ_rest_jobs_name UNIQUE (tenant_id, name),
    CONSTRAINT FK_rest_jobs_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE,
    CONSTRAINT FK_rest_jobs_tenants FOREIGN KEY (tenant_id) REFERENCES jobs_internal.tenants (tenant_id),
    CONSTRAINT CK_rest_jobs_http_method CHECK (http_method IN (N'GET', N'POST', N'PUT', N'DELETE')),
    CONSTRAINT CK_rest_jobs_job_type CHECK (job_type IN (N'HTTP_ENDPOINT', N'CF_TASK'))
);

CREATE TABLE jobs_internal.rest_schedules (
    schedule_id      BIGINT NOT NULL,
    rest_schedule_id UNIQUEIDENTIFIER NOT NULL,
    mode             NVARCHAR(20) NOT NULL,
    spec             NVARCHAR(MAX) NOT NULL,
    active           BIT NOT NULL,
    description      NVARCHAR(MAX) NULL,
    start_at         DATETIME2(7) NULL,
    end_at           DATETIME2(7) NULL,
    CONSTRAINT PK_rest_schedules PRIMARY KEY (schedule_id),
    CONSTRAINT FK_rest_schedules_schedules FOREIGN KEY (schedule_id)
        REFERENCES jobs_internal.schedules (schedule_id) ON DELETE CASCADE,
    CONSTRAINT CK_rest_schedules_mode CHECK (mode IN (N'cron', N'time', N'repeatInterval', N'repeatAt'))
);

CREATE TABLE jobs_internal.rest_requests (
    request_hash BINARY(32) NOT NULL,
    created_at   DATETIME2(7) NOT NULL,
    result       NVARCHAR(MAX) NULL,
    answer       NVARCHAR(MAX) NULL,
    delivered    BIT NOT NULL CONSTRAINT DF_rest_requests_delivered DEFAULT 0,
    CONSTRAINT PK_rest_requests PRIMARY KEY (request_hash)
);

CREATE INDEX IX_rest_requests_created_at ON jobs_internal.rest_requests (created_at);

CREATE TABLE jobs_internal.rest_action_log (
    log_id           BIGINT NOT NULL IDENTITY(1, 1),
    rest_job_id      INT NOT NULL,
    rest_schedule_id UNIQUEIDENTIFIER NULL,
    at               DATETIME2(7) NOT NULL,
    action           NVARCHAR(40) NOT NULL,
    by_user          NVARCHAR(128) NULL,
    text             NVARCHAR(1000) NULL,
    CONSTRAINT PK_rest_action_log PRIMARY KEY (log_id)
);

CREATE INDEX IX_rest_action_log_rest_job_id ON jobs_internal.rest_action_log (rest_job_id, log_id);
