-- The history of the schemas of databases that steps of type Drift have read: a row for each change.
--
-- Columns:
--   target_id        The database.
--   server_name      Its server.
--   database_name    Its name.
--   options          What was compared; empty: the defaults. Each combination of options has a history of its own.
--   fingerprint      The fingerprint of the schema: what jobagent drift shows in hexadecimal digits.
--   objects          Number of compared objects; NULL: not known.
--   first_seen_time  When it was first read (UTC): since then the database has had this schema.
--   last_seen_time   When it was last read (UTC). A change to the next row came after this.
--   is_current       1: the last row of the database.
--   changes          How it differs from the row before, in words; NULL: it is the first one, or that is not known.
CREATE OR ALTER VIEW jobs.drift_history
AS
SELECT
    d.target_id,
    d.server_name,
    d.database_name,
    d.options,
    d.fingerprint,
    s.objects,
    d.first_seen_at AS first_seen_time,
    d.last_seen_at AS last_seen_time,
    CAST(CASE
        WHEN EXISTS (
            SELECT 1
            FROM jobs_internal.drift_states AS n
            WHERE n.target_id = d.target_id
                AND n.options = d.options
                AND n.first_seen_at > d.first_seen_at
        )
            THEN 0
        ELSE 1
    END AS BIT) AS is_current,
    d.changes
FROM jobs_internal.drift_states AS d
LEFT JOIN jobs_internal.drift_schemas AS s ON s.fingerprint = d.fingerprint AND s.options = d.options;
