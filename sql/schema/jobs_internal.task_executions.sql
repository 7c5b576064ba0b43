-- Tasks: one row per attempt on a target, and per resolution of a target group. The term that claimed a task holds it
-- until the outcome is accepted or the term ends.
--
-- Columns:
--   task_id              Increases over time.
--   kind                 Run or Resolve.
--   execution_id         The run.
--   step_execution_id    The step's row.
--   target_execution_id  The target's row; NULL for Resolve.
--   attempt              Number of the attempt; the number of an attempt that was handed back is used again.
--   term_id              The term that holds or held the task. No foreign key: it would need an index over the whole
--                        history that every claim writes to; jobs_internal.purge_history keeps terms as long as there
--                        are tasks of their time.
--   claimed_at           When it was claimed.
--   ended_at             When the outcome was accepted; NULL while the task is held.
--   outcome              Succeeded, Failed, TimedOut, Canceled, Unknown or Returned (nothing was sent). Of actions also
--                        Accepted and NoAnswer: the target waits for a callback.
--   message              The agent's message.
--   error_number, error_severity, error_state, error_line, error_procedure  The error that determined the outcome.
--   rows_affected        Sum of all row counts.
--   elapsed_ms           Duration, by the agent's clock.
--   session_id           Session on the target server; NULL: unknown.
--   unreached            1: the target could not be reached: no connection, or the login was refused. Nothing was sent.
--   send_began_at        When jobs_internal.begin_send allowed the agent to send the request of an action; NULL: nothing was
--                        sent, or the command is no action.
--   claim_id             The GUID of the pass that claimed the task, made by the agent; an outcome must name it, because a restored
--                        database gives the numbers of tasks again. NULL: claimed for an agent of an earlier release.
CREATE TABLE jobs_internal.task_executions (
    task_id             BIGINT NOT NULL IDENTITY(1, 1),
    kind                NVARCHAR(10) NOT NULL,
    execution_id        BIGINT NOT NULL,
    step_execution_id   BIGINT NOT NULL,
    target_execution_id BIGINT NULL,
    attempt             INT NOT NULL,
    term_id             BIGINT NOT NULL,
    claimed_at          DATETIME2(7) NOT NULL,
    ended_at            DATETIME2(7) NULL,
    outcome             NVARCHAR(20) NULL,
    message             NVARCHAR(MAX) NULL,
    error_number        INT NULL,
    error_severity      TINYINT NULL,
    error_state         TINYINT NULL,
    error_line          INT NULL,
    error_procedure     NVARCHAR(256) NULL,
    rows_affected       BIGINT NULL,
    elapsed_ms          BIGINT NULL,
    session_id          INT NULL,
    unreached           BIT NOT NULL CONSTRAINT DF_task_executions_unreached DEFAULT 0,
    send_began_at       DATETIME2(7) NULL,
    claim_id            UNIQUEIDENTIFIER NULL,
    CONSTRAINT PK_task_executions PRIMARY KEY (task_id),
    CONSTRAINT FK_task_executions_step_executions FOREIGN KEY (execution_id, step_execution_id)
        REFERENCES jobs_internal.step_executions (execution_id, step_execution_id),
    CONSTRAINT CK_task_executions_kind CHECK (
        (kind = N'Run' AND target_execution_id IS NOT NULL) OR (kind = N'Resolve' AND target_execution_id IS NULL)
    ),
    CONSTRAINT CK_task_executions_outcome CHECK (
        (ended_at IS NULL AND outcome IS NULL)
        OR (ended_at IS NOT NULL
            AND outcome IN (
                N'Succeeded', N'Failed', N'TimedOut', N'Canceled', N'Unknown', N'Returned', N'Accepted', N'NoAnswer'
            ))
    )
);

-- A claim writes to both, an outcome only to the second. Held tasks are found there, ended tasks by run, step and target.
-- The second includes all columns of held tasks that passes read. A lookup of the row would take its locks in the opposite order to an
-- outcome, which locks the row first, and the two would deadlock without READ_COMMITTED_SNAPSHOT. The included columns never change.
CREATE INDEX IX_task_executions_execution_id ON jobs_internal.task_executions (execution_id, step_execution_id, target_execution_id);
CREATE INDEX IX_task_executions_held ON jobs_internal.task_executions (term_id, task_id)
    INCLUDE (kind, execution_id, step_execution_id, target_execution_id, attempt, ended_at)
    WHERE ended_at IS NULL;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.task_executions SET (LOCK_ESCALATION = DISABLE);
