-- The migrations that have been applied to the tables. A fresh install records all of them as applied. The highest
-- version is the schema's version; version 0 stands for the first release.
--
-- Columns:
--   version     Number of the migration; 0 is the first release.
--   name        File name of the migration; 'install' for version 0.
--   sha256      Hash of the migration's text, in hexadecimal.
--   applied_at  When it was applied.
CREATE TABLE jobs_internal.schema_versions (
    version    INT NOT NULL,
    name       NVARCHAR(128) NOT NULL,
    sha256     CHAR(64) NOT NULL,
    applied_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_schema_versions PRIMARY KEY (version)
);
