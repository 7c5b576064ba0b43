-- The steps to whose outcomes a step reacted, when it was skipped by its condition, or was started with a condition other
-- than Succeeded. These are the steps that come before it; in the place of one that was skipped by its condition, those to
-- whose outcomes that one reacted. Rows never change, and are deleted with the step.
--
-- Columns:
--   execution_id, step_id  The step's row in step_executions.
--   cause_step_id          The other step.
CREATE TABLE jobs_internal.step_execution_causes (
    execution_id  BIGINT NOT NULL,
    step_id       INT NOT NULL,
    cause_step_id INT NOT NULL,
    CONSTRAINT PK_step_execution_causes PRIMARY KEY (execution_id, step_id, cause_step_id),
    CONSTRAINT FK_step_execution_causes_step_executions FOREIGN KEY (execution_id, step_id)
        REFERENCES jobs_internal.step_executions (execution_id, step_id) ON DELETE CASCADE
);
