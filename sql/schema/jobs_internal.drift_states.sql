-- The history of the schemas of databases: a row for each change, at most 100 for each database and options. Nothing is added as long as
-- nothing changes.
--
-- Columns:
--   target_id      The database; it need not be in targets.
--   options        Those of the schema.
--   first_seen_at  When the database was first read with this schema after another one, or at all.
--   last_seen_at   When it was last read with it. What changed it came between this and the next row's first_seen_at.
--   fingerprint    The schema (drift_schemas).
--   server_name, database_name  The database, as it was spelled then.
--   changes        How it differs from the row before, in words; NULL: it is the first one, or that is not known.
CREATE TABLE jobs_internal.drift_states (
    target_id     UNIQUEIDENTIFIER NOT NULL,
    options       NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
    first_seen_at DATETIME2(7) NOT NULL,
    last_seen_at  DATETIME2(7) NOT NULL,
    fingerprint   BINARY(32) NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    changes       NVARCHAR(2000) NULL,
    CONSTRAINT PK_drift_states PRIMARY KEY (target_id, options, first_seen_at)
);

CREATE INDEX IX_drift_states_fingerprint ON jobs_internal.drift_states (fingerprint);
