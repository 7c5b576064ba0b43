-- Baselines of schemas (jobs.sp_set_drift_baseline), with which steps of type Drift compare databases.
--
-- Columns:
--   baseline_name  Name of the baseline.
--   options        What is compared; a baseline has a row for each options with which its database had been read.
--   fingerprint    The fingerprint of the schema.
--   objects        Number of compared objects; NULL: not known.
--   source         The database from which it was taken, as server/database.
--   set_time       When it was set (UTC).
--   set_by         By whom.
CREATE OR ALTER VIEW jobs.drift_baselines
AS
SELECT
    b.name AS baseline_name,
    b.options,
    b.fingerprint,
    s.objects,
    b.source,
    b.set_at AS set_time,
    b.set_by
FROM jobs_internal.drift_baselines AS b
LEFT JOIN jobs_internal.drift_schemas AS s ON s.fingerprint = b.fingerprint AND s.options = b.options;
