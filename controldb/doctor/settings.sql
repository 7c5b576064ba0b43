-- Stored settings with their ranges. No procedure reads a setting without a range.
SELECT
    s.name,
    s.value AS stored_value,
    k.default_value,
    k.lowest,
    k.highest,
    CAST(CASE WHEN TRY_CAST(s.value AS INT) BETWEEN k.lowest AND k.highest THEN 1 ELSE 0 END AS BIT) AS is_used
FROM jobs_internal.settings AS s
LEFT JOIN jobs_internal.effective_settings AS k ON k.name = s.name
ORDER BY s.name;
