-- The steps that come before a step, of the steps with has_after = 1. A step with has_after = 1 and without rows here
-- comes first: it starts with the run. Rows never change after the transaction that created them.
--
-- Columns:
--   job_id, version, step_id  The step.
--   after_step_id             A step of the same version that must be final before it.
CREATE TABLE jobs_internal.job_step_dependencies (
    job_id        UNIQUEIDENTIFIER NOT NULL,
    version       INT NOT NULL,
    step_id       INT NOT NULL,
    after_step_id INT NOT NULL,
    CONSTRAINT PK_job_step_dependencies PRIMARY KEY (job_id, version, step_id, after_step_id),
    CONSTRAINT FK_job_step_dependencies_job_steps FOREIGN KEY (job_id, version, step_id)
        REFERENCES jobs_internal.job_steps (job_id, version, step_id) ON DELETE CASCADE,
    CONSTRAINT CK_job_step_dependencies_after_step_id CHECK (after_step_id >= 1)
);
