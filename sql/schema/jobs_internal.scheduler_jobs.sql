-- Jobs of job collections: what such a job has beyond other jobs. The job c/j has the steps MainAction and ErrorAction, and one schedule,
-- scheduler.
--
-- Columns:
--   job_id           The job. No foreign key: the row is deleted when the job becomes invisible, long before the row of the job.
--   collection_id    Its collection. No foreign key: the collection is locked when a job is added or all are deleted.
--   name             Name within the collection.
--   properties       The action as REST shows it: a JSON object without secrets; NULL: the job was defined in T-SQL.
--   gap_seconds      Shortest time between two of its due instants; NULL: it is due once.
--   authenticates    1: an action has an authentication.
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
