-- How far ended runs were read for the export of traces: one row. One agent at a time reads; see jobs_internal.read_ended_runs.
-- Nothing but the export depends on it: a run that is read twice has the same spans.
--
-- Columns:
--   id            1.
--   term_id       The term whose agent reads; NULL: none ever has.
--   held_until    Until then, other agents leave the reading to that term.
--   read_through  All runs that ended before have been read; NULL: nothing was read yet.
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
