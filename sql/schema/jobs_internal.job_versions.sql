-- The versions of jobs, which never change (I3). Version 0 has no steps.
--
-- Columns:
--   job_id      The job.
--   version     0, 1, 2, …
--   created_at  When the version was created.
CREATE TABLE jobs_internal.job_versions (
    job_id     UNIQUEIDENTIFIER NOT NULL,
    version    INT NOT NULL,
    created_at DATETIME2(7) NOT NULL CONSTRAINT DF_job_versions_created_at DEFAULT SYSUTCDATETIME(),
    CONSTRAINT PK_job_versions PRIMARY KEY (job_id, version),
    CONSTRAINT FK_job_versions_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE
);
