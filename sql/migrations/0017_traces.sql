-- Traces: how far the ended runs were read for the export, and the caller's span that a run was started from.
CREATE TABLE jobs_internal.trace_state (
    id           TINYINT NOT NULL CONSTRAINT DF_trace_state_id DEFAULT 1,
    term_id      BIGINT NULL,
    held_until   DATETIME2(7) NOT NULL,
    read_through DATETIME2(7) NULL,
    CONSTRAINT PK_trace_state PRIMARY KEY (id),
    CONSTRAINT CK_trace_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.trace_state (held_until)
VALUES ('2000-01-01');

ALTER TABLE jobs_internal.job_executions ADD traceparent NVARCHAR(55) NULL;
