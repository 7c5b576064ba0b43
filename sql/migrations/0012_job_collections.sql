-- Makes the tables of the Scheduler surface, and the counters of its jobs.
ALTER TABLE jobs_internal.schedules ADD
    main_attempts BIGINT NOT NULL CONSTRAINT DF_schedules_main_attempts DEFAULT 0,
    main_failures BIGINT NOT NULL CONSTRAINT DF_schedules_main_failures DEFAULT 0;

CREATE TABLE jobs_internal.job_collections (
    collection_id            UNIQUEIDENTIFIER NOT NULL,
    name                     NVARCHAR(100) NOT NULL,
    location                 NVARCHAR(128) NOT NULL,
    sku                      NVARCHAR(20) NOT NULL,
    state                    NVARCHAR(10) NOT NULL CONSTRAINT DF_job_collections_state DEFAULT N'Enabled',
    max_job_count            INT NOT NULL,
    max_job_occurrence       INT NULL,
    max_recurrence_frequency NVARCHAR(10) NOT NULL,
    max_recurrence_interval  INT NOT NULL,
    tags                     NVARCHAR(MAX) NULL,
    revision                 BIGINT NOT NULL CONSTRAINT DF_job_collections_revision DEFAULT 1,
    created_at               DATETIME2(7) NOT NULL,
    updated_at               DATETIME2(7) NOT NULL,
    CONSTRAINT PK_job_collections PRIMARY KEY (collection_id),
    CONSTRAINT UQ_job_collections_name UNIQUE (name),
    CONSTRAINT CK_job_collections_sku CHECK (sku IN (N'Standard', N'Free', N'P10Premium', N'P20Premium')),
    CONSTRAINT CK_job_collections_state CHECK (state IN (N'Enabled', N'Disabled')),
    CONSTRAINT CK_job_collections_max_recurrence_frequency
        CHECK (max_recurrence_frequency IN (N'minute', N'hour', N'day', N'week', N'month', N'year'))
);

CREATE TABLE jobs_internal.scheduler_jobs (
    job_id            UNIQUEIDENTIFIER NOT NULL,
    collection_id     UNIQUEIDENTIFIER NOT NULL,
    name              NVARCHAR(100) NOT NULL,
    properties        NVARCHAR(MAX) NULL,
    gap_seconds       BIGINT NULL,
    authenticates     BIT NOT NULL,
    CONSTRAINT PK_scheduler_jobs PRIMARY KEY (job_id),
    CONSTRAINT UQ_scheduler_jobs_name UNIQUE (collection_id, name)
);
