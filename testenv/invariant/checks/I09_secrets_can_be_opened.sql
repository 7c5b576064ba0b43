-- I9: each sealed secret can be opened with at least one active key, and has no data key of a
-- retired or unknown one.
SELECT CONCAT(N'the secret ', s.name, N' is sealed for no active key') AS detail
FROM jobs_internal.secrets AS s
WHERE NOT EXISTS (
    SELECT 1
    FROM jobs_internal.secret_data_keys AS d
    INNER JOIN jobs_internal.secret_keys AS k ON k.key_id = d.key_id
    WHERE d.secret_id = s.secret_id
        AND k.is_active = 1
)
UNION ALL
SELECT CONCAT(N'the secret ', d.secret_id, N' is sealed for the key ', d.key_id, N', which is not active')
FROM jobs_internal.secret_data_keys AS d
LEFT JOIN jobs_internal.secret_keys AS k ON k.key_id = d.key_id
WHERE COALESCE(k.is_active, 0) = 0;
