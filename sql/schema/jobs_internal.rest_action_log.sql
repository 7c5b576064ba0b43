-- The action log of the SAP surface (S-27). The rows of a job are deleted with it; jobs.audit_log keeps what was done.
--
-- Columns:
--   log_id            Increases over time.
--   rest_job_id       The job. No foreign key: passes write here, and must not wait for the row of a job that a request changes.
--   rest_schedule_id  The schedule; NULL: the entry is about the job.
--   at                When it happened.
--   action            CREATE, UPDATE, DELETE, ACTIVATE, DEACTIVATE, DEACTIVATION_ON_COMPLETION, DEACTIVATION_UNREACHABLE or
--                     DEACTIVATION_NO_FUTURE_RUN.
--   by_user           Who did it; NULL: the system.
--   text              What was done.
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
