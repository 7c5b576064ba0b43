-- Callbacks: one row per attempt of an action that a report from outside may end (I12). A row is created when the attempt
-- begins to send, or when it ends without an answer and the step awaits a report then. While closed_at is NULL, the
-- first report is accepted; passes close the row and end the wait (DESIGN.md, "Callbacks").
--
-- Columns:
--   target_execution_id, attempt  The attempt. No foreign key: both are deleted together.
--   execution_id     The run; used for deletion.
--   task_id          The task of the attempt.
--   token_hash       SHA-256 of the token in the callback's address; NULL: none was given out.
--   timeout_seconds  Time that the report has, from the action's definition; NULL: the setting async_exec_timeout_seconds.
--   acked            1: the endpoint has accepted the request. 0: not yet, or there was no answer.
--   opened_at        When the row was created.
--   deadline_at      When the wait ends without a report; NULL while the attempt runs.
--   success          The report: 1: the work succeeded, 0: it failed. NULL: there is no report.
--   message          Its message.
--   received_at      When it was accepted.
--   received_by      Who sent it.
--   closed_at        When the callback was closed; NULL: it is open.
--   closed_by        What closed it: Report, Deadline, Stop, or Attempt (the attempt ended without a wait).
--   late             The latest report that was refused, a JSON object: success, message, received_at, received_by.
CREATE TABLE jobs_internal.callbacks (
    target_execution_id BIGINT NOT NULL,
    attempt             INT NOT NULL,
    execution_id        BIGINT NOT NULL,
    task_id             BIGINT NOT NULL,
    token_hash          BINARY(32) NULL,
    timeout_seconds     INT NULL,
    acked               BIT NOT NULL CONSTRAINT DF_callbacks_acked DEFAULT 0,
    opened_at           DATETIME2(7) NOT NULL,
    deadline_at         DATETIME2(7) NULL,
    success             BIT NULL,
    message             NVARCHAR(MAX) NULL,
    received_at         DATETIME2(7) NULL,
    received_by         NVARCHAR(128) NULL,
    closed_at           DATETIME2(7) NULL,
    closed_by           NVARCHAR(10) NULL,
    late                NVARCHAR(MAX) NULL,
    CONSTRAINT PK_callbacks PRIMARY KEY (target_execution_id, attempt),
    CONSTRAINT CK_callbacks_success CHECK (
        (success IS NULL AND received_at IS NULL) OR (success IS NOT NULL AND received_at IS NOT NULL)
    ),
    CONSTRAINT CK_callbacks_closed_by CHECK (
        (closed_at IS NULL AND closed_by IS NULL)
        OR (closed_at IS NOT NULL AND closed_by IN (N'Report', N'Deadline', N'Stop', N'Attempt'))
    )
);

CREATE UNIQUE INDEX UQ_callbacks_token_hash ON jobs_internal.callbacks (token_hash)
    WHERE token_hash IS NOT NULL;
CREATE INDEX IX_callbacks_execution_id ON jobs_internal.callbacks (execution_id);
-- The open callbacks of a run, however many are closed: for reports that name no target.
CREATE INDEX IX_callbacks_open ON jobs_internal.callbacks (execution_id)
    INCLUDE (closed_at)
    WHERE closed_at IS NULL;
-- The callbacks for which targets wait: by deadline, and those that have a report.
CREATE INDEX IX_callbacks_deadline_at ON jobs_internal.callbacks (deadline_at)
    INCLUDE (closed_at)
    WHERE deadline_at IS NOT NULL AND closed_at IS NULL;
CREATE INDEX IX_callbacks_received_at ON jobs_internal.callbacks (received_at)
    INCLUDE (deadline_at, closed_at)
    WHERE received_at IS NOT NULL AND deadline_at IS NOT NULL AND closed_at IS NULL;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.callbacks SET (LOCK_ESCALATION = DISABLE);
