-- Messages of scripts, servers and the agent during attempts, in order. The agent truncates long output.
--
-- Columns:
--   task_id         The attempt.
--   ordinal         Position, from 1.
--   execution_id    The run; used for deletion.
--   kind            Info (PRINT, RAISERROR below severity 11), Error, Rows (a row count) or Agent. Of actions also
--                   Response (status line and headers, or the id that a queue gave a message), Body (of a response), Output
--                   and ErrorOutput (of a process), and Exit (its end; number is the exit code).
--   number, severity, state, line, procedure_name  Those of the server's message; 0 and NULL if there is none.
--   message         Text; NULL for Rows.
--   row_count       The row count; only for Rows.
CREATE TABLE jobs_internal.task_messages (
    task_id        BIGINT NOT NULL,
    ordinal        INT NOT NULL,
    execution_id   BIGINT NOT NULL,
    kind           NVARCHAR(20) NOT NULL,
    number         INT NOT NULL CONSTRAINT DF_task_messages_number DEFAULT 0,
    severity       TINYINT NOT NULL CONSTRAINT DF_task_messages_severity DEFAULT 0,
    state          TINYINT NOT NULL CONSTRAINT DF_task_messages_state DEFAULT 0,
    line           INT NOT NULL CONSTRAINT DF_task_messages_line DEFAULT 0,
    procedure_name NVARCHAR(256) NULL,
    message        NVARCHAR(MAX) NULL,
    row_count      BIGINT NULL,
    CONSTRAINT PK_task_messages PRIMARY KEY (task_id, ordinal),
    CONSTRAINT CK_task_messages_kind CHECK (
        kind IN (N'Info', N'Error', N'Rows', N'Agent', N'Response', N'Body', N'Output', N'ErrorOutput', N'Exit')
    )
);

CREATE INDEX IX_task_messages_execution_id ON jobs_internal.task_messages (execution_id);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.task_messages SET (LOCK_ESCALATION = DISABLE);
