-- Baselines: schemas that somebody has declared to be right (jobs.sp_set_drift_baseline), under a name.
--
-- Columns:
--   name         Name of the baseline.
--   options      Those of the schema: a baseline has a schema for each options with which its database had been read.
--   fingerprint  The schema (drift_schemas).
--   source       The database from which it was taken, as server/database.
--   set_at       When it was set.
--   set_by       By whom.
CREATE TABLE jobs_internal.drift_baselines (
    name        NVARCHAR(128) NOT NULL,
    options     NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
    fingerprint BINARY(32) NOT NULL,
    source      NVARCHAR(400) NOT NULL,
    set_at      DATETIME2(7) NOT NULL,
    set_by      NVARCHAR(128) NULL,
    CONSTRAINT PK_drift_baselines PRIMARY KEY (name, options)
);
