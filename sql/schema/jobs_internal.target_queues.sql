-- Queues: the targets of a step's execution that are on one server and in one elastic pool (or in none). All of them
-- have the same limits, so a claim checks limits per queue, not per target. Created with the list of targets; rows
-- never change.
--
-- Columns:
--   queue_id           Internal key.
--   execution_id       The run; used for deletion.
--   step_execution_id  The step's row.
--   job_id, step_id    Of the step; max_parallelism counts over all runs of the job.
--   server_name        The server whose limits apply: that of the targets, or the host that an action on them calls.
--   elastic_pool_name  The pool; empty: none.
CREATE TABLE jobs_internal.target_queues (
    queue_id          BIGINT NOT NULL IDENTITY(1, 1),
    execution_id      BIGINT NOT NULL,
    step_execution_id BIGINT NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL,
    step_id           INT NOT NULL,
    server_name       NVARCHAR(256) NOT NULL,
    elastic_pool_name NVARCHAR(128) NOT NULL,
    CONSTRAINT PK_target_queues PRIMARY KEY (queue_id),
    CONSTRAINT UQ_target_queues_server_name UNIQUE (step_execution_id, server_name, elastic_pool_name),
    CONSTRAINT FK_target_queues_step_executions FOREIGN KEY (step_execution_id)
        REFERENCES jobs_internal.step_executions (step_execution_id)
);

CREATE INDEX IX_target_queues_execution_id ON jobs_internal.target_queues (execution_id);
