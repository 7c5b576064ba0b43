-- Jobs of the SAP surface: what they have beside their rows in jobs, job_steps and schedules. The row is deleted at once with the
-- job, so that nothing finds it any more.
--
-- Columns:
--   rest_job_id    The job's _id: 1, 2, 3, …, never used again.
--   job_id         The job.
--   tenant_id      The job's tenant.
--   name           Name; unique within the tenant. Compared exactly.
--   description    Free text; empty if none was given.
--   action         URL that is called; of a task, process: and the name of an entry of the agents' configuration.
--   http_method    GET, POST, PUT or DELETE.
--   active         1: its schedules make runs.
--   start_at, end_at  Earliest and latest due instant of its schedules; NULL: no bound. The texts of the schedules have them.
--   start_text, end_text  The same as they were sent, as JSON; NULL: not given.
--   user_name      User of the endpoint; NULL: none.
--   password_name  Name of the sealed secret with the password (owner rest); NULL: none.
--   credential_name  Credential that authenticates the requests, in the agents' configuration; NULL: none.
--   allow_http     1: the URL may have the scheme http.
--   ans_config, calm_config  Settings of alerts, JSON objects; NULL: none. Stored and returned.
--   job_type       HTTP_ENDPOINT, or CF_TASK for a task: a process on the machine of an agent. It never changes.
--   created_at     When the job was created.
--   updated_at     When it was last changed.
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
