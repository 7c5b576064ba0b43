-- The parameters of runs: JSON objects. Schedules and runs with equal parameters share a row; if two sessions store the
-- same text at the same moment, there may be two rows with it. Rows never change, so agents may cache them. A row that no
-- run and no schedule refers to is deleted (jobs_internal.delete_payloads). Who refers to a row has a shared lock on it until
-- then, or has locked a schedule that refers to it already. So no row is deleted that is being used, and without foreign
-- keys no pass has to wait for another session's lock on a row here.
--
-- Columns:
--   payload_id  Id of the text.
--   hash        SHA-256 of the text as NVARCHAR.
--   text        The JSON object, as it was given.
--   created_at  When the row was created.
CREATE TABLE jobs_internal.payloads (
    payload_id BIGINT NOT NULL IDENTITY(1, 1),
    hash       BINARY(32) NOT NULL,
    text       NVARCHAR(MAX) NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_payloads PRIMARY KEY (payload_id)
);

CREATE INDEX IX_payloads_hash ON jobs_internal.payloads (hash);
