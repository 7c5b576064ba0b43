-- Keys for which secrets are sealed.
--
-- Columns:
--   key_id        Id: 32 hexadecimal digits.
--   public_key    The public half, 32 bytes.
--   is_active     1: secrets are sealed for it; 0: it was retired.
--   secrets       Number of secrets that it can open.
--   secrets_only  Number of secrets that no other active key can open.
--   created_time  When it was added (UTC).
--   created_by    Login that added it.
--   retired_time  When it was retired (UTC); NULL: it is active.
--   retired_by    Login that retired it.
CREATE OR ALTER VIEW jobs.secret_keys
AS
WITH counted AS (
    SELECT d.secret_id, COUNT(*) AS keys
    FROM jobs_internal.secret_data_keys AS d
    INNER JOIN jobs_internal.secret_keys AS k ON k.key_id = d.key_id
    WHERE k.is_active = 1
    GROUP BY d.secret_id
)
SELECT
    k.key_id,
    k.public_key,
    k.is_active,
    (SELECT COUNT(*) FROM jobs_internal.secret_data_keys AS d WHERE d.key_id = k.key_id) AS secrets,
    (
        SELECT COUNT(*)
        FROM jobs_internal.secret_data_keys AS d
        INNER JOIN counted AS c ON c.secret_id = d.secret_id
        WHERE d.key_id = k.key_id
            AND c.keys = 1
    ) AS secrets_only,
    k.created_at AS created_time,
    k.created_by,
    k.retired_at AS retired_time,
    k.retired_by
FROM jobs_internal.secret_keys AS k;
