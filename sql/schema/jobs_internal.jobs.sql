-- Jobs. A deleted job keeps its row, which is invisible and does not reserve its name, until its last execution has
-- been deleted.
--
-- Columns:
--   job_id           Public id.
--   name             Unique among jobs that are not deleted.
--   description      Free text; empty if none was given.
--   is_system        1 for jobs that the Maintainer restores.
--   current_version  The version of new runs; 0 has no steps.
--   created_at       When the job was added.
--   deleted_at       When the job was deleted; NULL while it exists.
--   unreachable_since  End of the first of its latest successive scheduled runs that reached none of their targets,
--                      because servers did not answer or refused the login; NULL: the latest run reached a target, or
--                      had none to reach.
--   revision         Grows with every change of the job, its steps or its schedules that somebody makes.
--   parameters       The parameters that it declares: a JSON array in the form of jobs_internal.check_declarations; NULL: none,
--                    so that its runs take any parameters.
CREATE TABLE jobs_internal.jobs (
    job_id          UNIQUEIDENTIFIER NOT NULL,
    name            NVARCHAR(128) NOT NULL,
    description     NVARCHAR(512) NOT NULL CONSTRAINT DF_jobs_description DEFAULT N'',
    is_system       BIT NOT NULL CONSTRAINT DF_jobs_is_system DEFAULT 0,
    current_version INT NOT NULL CONSTRAINT DF_jobs_current_version DEFAULT 0,
    created_at      DATETIME2(7) NOT NULL CONSTRAINT DF_jobs_created_at DEFAULT SYSUTCDATETIME(),
    deleted_at      DATETIME2(7) NULL,
    unreachable_since DATETIME2(7) NULL,
    revision        BIGINT NOT NULL CONSTRAINT DF_jobs_revision DEFAULT 1,
    parameters      NVARCHAR(MAX) NULL,
    CONSTRAINT PK_jobs PRIMARY KEY (job_id)
);

CREATE UNIQUE INDEX UQ_jobs_name ON jobs_internal.jobs (name)
    INCLUDE (deleted_at)
    WHERE deleted_at IS NULL;
CREATE INDEX IX_jobs_deleted_at ON jobs_internal.jobs (deleted_at)
    WHERE deleted_at IS NOT NULL;
