-- Schemas of databases that steps of type Drift have read: a row for each distinct one, however many databases have it. What refers to a
-- row has no foreign key: a row that upkeep has deleted meanwhile is added again when a database with this schema is read.
-- DESIGN.md, "Drift".
--
-- Columns:
--   fingerprint  The SHA-256 of what was compared (jobs/drift).
--   options      What was compared; empty: the defaults. Schemas with other options are not comparable.
--   objects      Number of compared objects.
--   parts        The names and hashes of the objects: COMPRESS of a JSON array of arrays (jobs_internal.describe_drift). NULL: they
--                are too many, and what differs is not said.
--   created_at   When it was first read anywhere.
CREATE TABLE jobs_internal.drift_schemas (
    fingerprint BINARY(32) NOT NULL,
    options     NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
    objects     INT NOT NULL,
    parts       VARBINARY(MAX) NULL,
    created_at  DATETIME2(7) NOT NULL,
    CONSTRAINT PK_drift_schemas PRIMARY KEY (fingerprint, options)
);
