-- Lets jobs start after runs of other jobs.
CREATE TABLE jobs_internal.job_triggers (
    trigger_id BIGINT NOT NULL IDENTITY(1, 1),
    job_id     UNIQUEIDENTIFIER NOT NULL,
    name       NVARCHAR(128) NOT NULL,
    run_when   NVARCHAR(10) NOT NULL,
    targets    NVARCHAR(10) NOT NULL,
    enabled    BIT NOT NULL,
    generation INT NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    updated_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_job_triggers PRIMARY KEY (trigger_id),
    CONSTRAINT UQ_job_triggers_name UNIQUE (job_id, name),
    CONSTRAINT CK_job_triggers_run_when CHECK (run_when IN (N'Succeeded', N'Failed', N'Finished')),
    CONSTRAINT CK_job_triggers_targets CHECK (targets IN (N'All', N'Succeeded'))
);

CREATE TABLE jobs_internal.job_trigger_upstreams (
    trigger_id      BIGINT NOT NULL,
    upstream_job_id UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT PK_job_trigger_upstreams PRIMARY KEY (trigger_id, upstream_job_id)
);

CREATE INDEX IX_job_trigger_upstreams_upstream_job_id ON jobs_internal.job_trigger_upstreams (upstream_job_id);

CREATE TABLE jobs_internal.trigger_events (
    event_id              BIGINT NOT NULL IDENTITY(1, 1),
    trigger_id            BIGINT NOT NULL,
    generation            INT NOT NULL,
    job_id                UNIQUEIDENTIFIER NOT NULL,
    upstream_job_id       UNIQUEIDENTIFIER NOT NULL,
    upstream_execution_id BIGINT NOT NULL,
    upstream_run          UNIQUEIDENTIFIER NOT NULL,
    upstream_lifecycle    NVARCHAR(50) NOT NULL,
    created_at            DATETIME2(7) NOT NULL,
    is_waiting            BIT NOT NULL,
    ended_at              DATETIME2(7) NULL,
    execution_id          BIGINT NULL,
    reason                NVARCHAR(4000) NULL,
    CONSTRAINT PK_trigger_events PRIMARY KEY (event_id),
    CONSTRAINT UQ_trigger_events_run UNIQUE (trigger_id, upstream_execution_id),
    CONSTRAINT CK_trigger_events_is_waiting CHECK (
        (is_waiting = 1 AND ended_at IS NULL AND execution_id IS NULL AND reason IS NULL)
        OR (is_waiting = 0 AND ended_at IS NOT NULL AND execution_id IS NOT NULL AND reason IS NULL)
        OR (is_waiting = 0 AND ended_at IS NOT NULL AND execution_id IS NULL AND reason IS NOT NULL)
    )
);

CREATE INDEX IX_trigger_events_waiting ON jobs_internal.trigger_events (job_id, trigger_id, upstream_job_id, event_id)
    INCLUDE (generation)
    WHERE is_waiting = 1;
CREATE INDEX IX_trigger_events_execution_id ON jobs_internal.trigger_events (execution_id)
    WHERE execution_id IS NOT NULL;
CREATE INDEX IX_trigger_events_upstream_run ON jobs_internal.trigger_events (upstream_run);
CREATE INDEX IX_trigger_events_created_at ON jobs_internal.trigger_events (created_at);

ALTER TABLE jobs_internal.trigger_events SET (LOCK_ESCALATION = DISABLE);

ALTER TABLE jobs_internal.job_executions ADD upstream_runs NVARCHAR(4000) NULL;

-- size: reads all active runs, and none is in it
CREATE INDEX IX_job_executions_active_upstream_runs ON jobs_internal.job_executions (execution_id)
    INCLUDE (upstream_runs)
    WHERE is_active = 1 AND upstream_runs IS NOT NULL;
