-- One row: this control database.
--
-- Columns:
--   database_id  Its identity, made at installation. Sealed secrets are bound to it.
CREATE OR ALTER VIEW jobs.control_database
AS
SELECT i.database_id
FROM jobs_internal.control_identity AS i;
