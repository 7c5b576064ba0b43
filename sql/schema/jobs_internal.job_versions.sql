-- The versions of jobs, which never change (I3). Version 0 has no steps.
--
-- Columns:
--   job_id      The job.
--   version     0, 1, 2, …
--   created_at  When the version was created.
--   has_dependencies  1: a step has an option of its dependencies (has_after, run_when or on_targets) that is not the
--                     default. Runs of all other versions start one step after the other.
--   rollout_plan  The plan by which its runs are rolled out, as jobs_internal.check_rollout_plan stores it; NULL: none.
CREATE TABLE jobs_internal.job_versions (
    job_id     UNIQUEIDENTIFIER NOT NULL,
    version    INT NOT NULL,
    created_at DATETIME2(7) NOT NULL CONSTRAINT DF_job_versions_created_at DEFAULT SYSUTCDATETIME(),
    has_dependencies BIT NOT NULL CONSTRAINT DF_job_versions_has_dependencies DEFAULT 0,
    rollout_plan NVARCHAR(MAX) NULL,
    CONSTRAINT PK_job_versions PRIMARY KEY (job_id, version),
    CONSTRAINT FK_job_versions_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE
);
