-- Job collections of the Scheduler surface.
--
-- Columns:
--   collection_id  Id of the collection.
--   name           Unique; 1 to 100 letters, digits, -, _ and periods.
--   location       As given; jobs send it as the region. It never changes, because definitions contain it.
--   sku            Standard, Free, P10Premium or P20Premium: the plan, which gives the quotas that are not set.
--   state          Enabled or Disabled. The schedules of the jobs of a disabled collection are paused with the note collection.
--   max_job_count  Number of jobs that it may have.
--   max_job_occurrence  Stored and shown; without effect. NULL: not given.
--   max_recurrence_frequency, max_recurrence_interval  Shortest time between two runs of a job: minute, hour, day, week, month or
--                  year, and how many of them.
--   tags           JSON object of texts; NULL: none.
--   revision       Grows with every change.
--   created_at     When it was created.
--   updated_at     When it was last changed.
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
