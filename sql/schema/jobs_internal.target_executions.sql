-- Steps on one target each: the rows of jobs.job_executions whose target_type is SqlDatabase or Endpoint. They are the
-- frozen list of targets of a step's execution (I3). Those of a step in step_lists are not complete yet, and not to be seen.
--
-- Columns:
--   target_execution_id  Internal key.
--   execution_id         The run.
--   step_execution_id    The step's row.
--   job_id, step_id      Of the step.
--   queue_id             Its row in target_queues, which determines its limits. No foreign key: both are created and
--                        deleted together.
--   ordinal              Position in the list, from 1.
--   internal_id          Written to output tables as internal_execution_id; the same for all attempts and for reruns. It is a hash of the
--                        run's id, the step and the target, so that a restored database gives it again.
--                        Actions derive their idempotency key from it; the rerun of an action has another one unless
--                        outcome_unknown is 1 (S-56).
--   target_id            Public id of the database.
--   server_name, database_name  The database; for an endpoint its host, and an empty text.
--   elastic_pool_name    The pool of the database; NULL: none.
--   lifecycle            See DESIGN.md, "Lifecycles".
--   is_active            1 for the five lifecycles that are not final.
--   create_time          When the list was frozen.
--   start_time           When the first attempt began.
--   end_time             When it became final.
--   attempts             Number of attempts that have begun and count.
--   attempt_start_time   When the latest attempt began.
--   next_attempt_at      When the next attempt may begin; NULL if none is due. The year 9999: it is held (DESIGN.md, "Held targets").
--   deadline_at          When the step's time limit passes; NULL before the first attempt, unless it is held, or was: then the end of that
--                        wait, and the first attempt has a time limit of its own.
--   last_message         Message of the latest event; NULL: the text of the lifecycle, which jobs.job_executions
--                        supplies. Most rows of a history have NULL.
--   outcome_unknown      1: the outcome of the latest attempt that sent anything is unknown: the script may have run.
--                        It stays 1 until the outcome of a later attempt is known.
--   error_number, error_line  The error that determined the outcome of the latest attempt; NULL: none, or not an error
--                             of the server.
--   is_endpoint          1: the target is the endpoint of an action, not a database.
--   held_by              While next_attempt_at is in the year 9999: what holds the target: answer_id of window_answers, or minus the
--                        pause_id of target_pauses. Otherwise NULL, or what held it at its end, without a meaning.
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
    is_endpoint         BIT NOT NULL CONSTRAINT DF_target_executions_is_endpoint DEFAULT 0,
    held_by             BIGINT NULL,
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
        OR (is_active = 1 AND end_time IS NULL AND next_attempt_at IS NULL AND lifecycle = N'WaitingForCallback')
        OR (is_active = 0 AND end_time IS NOT NULL AND next_attempt_at IS NULL
            AND lifecycle IN (N'Succeeded', N'SucceededWithSkipped', N'Failed', N'TimedOut', N'Canceled', N'Skipped'))
    )
);

CREATE INDEX IX_target_executions_execution_id ON jobs_internal.target_executions (execution_id, step_execution_id, target_execution_id);
-- All runs that touched a target, by job. None of its columns changes: a claim or an outcome does not write to it.
CREATE INDEX IX_target_executions_target_id ON jobs_internal.target_executions (target_id, job_id, execution_id);
CREATE INDEX IX_target_executions_active ON jobs_internal.target_executions (job_id, step_execution_id)
    WHERE is_active = 1;
CREATE INDEX IX_target_executions_waiting ON jobs_internal.target_executions (step_execution_id)
    WHERE lifecycle = N'WaitingForCallback';
CREATE INDEX IX_target_executions_due ON jobs_internal.target_executions (step_execution_id, next_attempt_at, target_execution_id)
    INCLUDE (queue_id, deadline_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX IX_target_executions_queue_id ON jobs_internal.target_executions (queue_id, next_attempt_at, target_execution_id)
    INCLUDE (step_execution_id, deadline_at)
    WHERE next_attempt_at IS NOT NULL;
-- These contain only targets that wait for another attempt, or are held: any other first attempt has no deadline and is due at once.
CREATE INDEX IX_target_executions_next_attempt_at ON jobs_internal.target_executions (next_attempt_at)
    INCLUDE (deadline_at)
    WHERE next_attempt_at IS NOT NULL AND deadline_at IS NOT NULL;
CREATE INDEX IX_target_executions_deadline_at ON jobs_internal.target_executions (deadline_at)
    INCLUDE (next_attempt_at)
    WHERE next_attempt_at IS NOT NULL AND deadline_at IS NOT NULL;
-- Only targets that are held, by what holds them. A claim does not write to it unless pauses or windows are in use.
CREATE INDEX IX_target_executions_held_by ON jobs_internal.target_executions (held_by, target_execution_id)
    INCLUDE (next_attempt_at)
    WHERE held_by IS NOT NULL AND next_attempt_at IS NOT NULL;
-- The same by step, for a forecast of when they go on.
CREATE INDEX IX_target_executions_holds ON jobs_internal.target_executions (step_execution_id, held_by)
    INCLUDE (next_attempt_at)
    WHERE held_by IS NOT NULL AND next_attempt_at IS NOT NULL;
-- Only failed targets, with all that a summary of failures shows but their messages: a claim or a success does not write to it.
CREATE INDEX IX_target_executions_failed ON jobs_internal.target_executions (execution_id, step_id)
    INCLUDE (lifecycle, end_time, error_number, server_name, database_name)
    WHERE lifecycle IN (N'Failed', N'TimedOut');

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.target_executions SET (LOCK_ESCALATION = DISABLE);
