-- Steps on one database each: the rows of jobs.job_executions whose target_type is SqlDatabase, and the frozen list
-- of targets of a step's execution (I3), made in one transaction.
--
-- Columns:
--   target_execution_id  Internal key.
--   execution_id         The run.
--   step_execution_id    The step's row.
--   job_id, step_id      Of the step.
--   queue_id             Its row in target_queues: what limits hold for it. No foreign key: both are made, and deleted, together.
--   ordinal              Position in the list, from 1.
--   internal_id          What internal_execution_id is in output tables; the same for all attempts, and in reruns.
--   target_id            Public id of the database.
--   server_name, database_name  The database.
--   elastic_pool_name    The pool that it was found in; NULL: in none.
--   lifecycle            See DESIGN.md, "Lifecycles".
--   is_active            1 for the four lifecycles that are not final.
--   create_time          When the list was frozen.
--   start_time           When the first attempt began.
--   end_time             When it became final.
--   attempts             Attempts that have begun and count.
--   attempt_start_time   When the latest one began.
--   next_attempt_at      When the next attempt may begin; NULL unless one is wanted.
--   deadline_at          When the step's time limit passes; NULL before the first attempt.
--   last_message         Message of the latest activity; NULL: what the lifecycle says by itself, which jobs.job_executions words.
--                        Most rows of a history are such.
--   outcome_unknown      1: nobody can say what became of the latest attempt of which anything was sent: the script may have run. It stays
--                        so until the outcome of a later attempt is known.
--   error_number, error_line  The error that decided the latest attempt; NULL: none, or not a server's.
CREATE TABLE jobs_internal.target_executions (
    target_execution_id BIGINT NOT NULL IDENTITY(1, 1),
    execution_id        BIGINT NOT NULL,
    step_execution_id   BIGINT NOT NULL,
    job_id              UNIQUEIDENTIFIER NOT NULL,
    step_id             INT NOT NULL,
    queue_id            BIGINT NOT NULL,
    ordinal             INT NOT NULL,
    internal_id         UNIQUEIDENTIFIER NOT NULL CONSTRAINT DF_target_executions_internal_id DEFAULT NEWID(),
    target_id           UNIQUEIDENTIFIER NOT NULL,
    server_name         NVARCHAR(256) NOT NULL,
    database_name       NVARCHAR(128) NOT NULL,
    elastic_pool_name   NVARCHAR(128) NULL,
    lifecycle           NVARCHAR(50) NOT NULL,
    is_active           BIT NOT NULL,
    create_time         DATETIME2(7) NOT NULL,
    start_time          DATETIME2(7) NULL,
    end_time            DATETIME2(7) NULL,
    attempts            INT NOT NULL CONSTRAINT DF_target_executions_attempts DEFAULT 0,
    attempt_start_time  DATETIME2(7) NULL,
    next_attempt_at     DATETIME2(7) NULL,
    deadline_at         DATETIME2(7) NULL,
    last_message        NVARCHAR(MAX) NULL,
    error_number        INT NULL,
    error_line          INT NULL,
    outcome_unknown     BIT NOT NULL CONSTRAINT DF_target_executions_outcome_unknown DEFAULT 0,
    CONSTRAINT PK_target_executions PRIMARY KEY (target_execution_id),
    CONSTRAINT UQ_target_executions_target_id UNIQUE (step_execution_id, target_id),
    CONSTRAINT FK_target_executions_step_executions FOREIGN KEY (step_execution_id)
        REFERENCES jobs_internal.step_executions (step_execution_id),
    CONSTRAINT CK_target_executions_outcome_unknown CHECK (
        outcome_unknown = 0 OR lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped', N'Skipped')
    ),
    CONSTRAINT CK_target_executions_lifecycle CHECK (
        (is_active = 1 AND end_time IS NULL
            AND lifecycle IN (N'Created', N'InProgress', N'WaitingForChildJobExecutions', N'WaitingForRetry'))
        OR (is_active = 0 AND end_time IS NOT NULL AND next_attempt_at IS NULL
            AND lifecycle IN (N'Succeeded', N'SucceededWithSkipped', N'Failed', N'TimedOut', N'Canceled', N'Skipped'))
    )
);

CREATE INDEX IX_target_executions_execution_id ON jobs_internal.target_executions (execution_id);
CREATE INDEX IX_target_executions_active ON jobs_internal.target_executions (job_id, step_execution_id)
    WHERE is_active = 1;
CREATE INDEX IX_target_executions_due ON jobs_internal.target_executions (step_execution_id, next_attempt_at, target_execution_id)
    INCLUDE (queue_id, deadline_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX IX_target_executions_queue_id ON jobs_internal.target_executions (queue_id, next_attempt_at, target_execution_id)
    INCLUDE (step_execution_id, deadline_at)
    WHERE next_attempt_at IS NOT NULL;
-- Only what waits for another attempt is in these: a first attempt has no deadline, and is never due later than at once.
CREATE INDEX IX_target_executions_next_attempt_at ON jobs_internal.target_executions (next_attempt_at)
    WHERE next_attempt_at IS NOT NULL AND deadline_at IS NOT NULL;
CREATE INDEX IX_target_executions_deadline_at ON jobs_internal.target_executions (deadline_at)
    WHERE next_attempt_at IS NOT NULL AND deadline_at IS NOT NULL;

-- One statement may lock the rows of thousands of targets. Nobody else must wait for all others (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.target_executions SET (LOCK_ESCALATION = DISABLE);
