-- Sealed secrets: those that actions may name as $(secret.NAME), and the passwords of credentials. No column holds a
-- value, not even a sealed one.
--
-- Columns:
--   secret_name   Name.
--   version       Counts the values that it has had.
--   keys          Number of active keys that can open it.
--   missing_keys  Number of active keys that cannot: see jobagent key rotate.
--   created_time  When the name was first set (UTC).
--   updated_time  When the value was set (UTC).
--   updated_by    Login that set it.
--   hosts         JSON array of the patterns of the hosts that may receive the value; NULL: any host.
--   owner         Empty: set by authors. rest: stored by REST, for one job. credential: the password of the credential of this name.
--   job_id        Job to which a secret of the owner rest belongs.
CREATE OR ALTER VIEW jobs.secrets
AS
WITH opened AS (
    SELECT d.secret_id, COUNT(*) AS keys
    FROM jobs_internal.secret_data_keys AS d
    INNER JOIN jobs_internal.secret_keys AS k ON k.key_id = d.key_id
    WHERE k.is_active = 1
    GROUP BY d.secret_id
)
SELECT
    s.name AS secret_name,
    s.version,
    COALESCE(o.keys, 0) AS keys,
    (SELECT COUNT(*) FROM jobs_internal.secret_keys AS k WHERE k.is_active = 1) - COALESCE(o.keys, 0) AS missing_keys,
    s.created_at AS created_time,
    s.updated_at AS updated_time,
    s.updated_by,
    s.hosts,
    s.owner,
    s.job_id
FROM jobs_internal.secrets AS s
LEFT JOIN opened AS o ON o.secret_id = s.secret_id;
