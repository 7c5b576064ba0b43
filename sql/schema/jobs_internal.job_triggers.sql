-- Triggers: a job starts after runs of other jobs.
--
-- Columns:
--   trigger_id  Internal key.
--   job_id      The job that it starts. No foreign key: jobs.sp_delete_job refuses to delete a job that has triggers.
--   name        Name; unique within the job.
--   run_when    What a run of an upstream job ends with: Succeeded (or SucceededWithSkipped), Failed (or TimedOut), or Finished (anything).
--   targets     Which databases its runs have: All, those of the job's target groups, or Succeeded, those of them on which the upstream
--               jobs succeeded.
--   enabled     1: runs that end are stored as events.
--   generation  It changes when what the trigger watches does, or when it is disabled: events of an earlier one are skipped.
--   created_at, updated_at  When it was created and last changed.
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
