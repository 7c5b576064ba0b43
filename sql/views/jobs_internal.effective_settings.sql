-- The effective value of each setting: the value in jobs_internal.settings if it is a number within the setting's
-- range, else the default. A value outside the range is ignored, because it would purge too much or nothing at all;
-- "jobagent doctor" reports it.
--
-- Columns:
--   name           Name of the setting; jobs_internal.settings describes it.
--   value          The effective value.
--   default_value  The value without a row.
--   lowest         Lowest valid value.
--   highest        Highest valid value.
--   stored_value   Text in jobs_internal.settings; NULL: there is no row.
CREATE OR ALTER VIEW jobs_internal.effective_settings
AS
SELECT
    k.name,
    COALESCE(CASE WHEN TRY_CAST(s.value AS INT) BETWEEN k.lowest AND k.highest THEN TRY_CAST(s.value AS INT) END, k.default_value) AS value,
    k.default_value,
    k.lowest,
    k.highest,
    s.value AS stored_value
FROM (VALUES
    (N'audit_retention_days', 365, 30, 36500),
    (N'history_retention_days', 45, 0, 36500),
    (N'schedule_retention_days', 60, 0, 36500),
    (N'schedule_min_interval_seconds', 0, 0, 31536000),
    (N'unreachable_days', 10, 0, 36500),
    (N'async_exec_timeout_seconds', 604800, 1, 31536000),
    (N'sap_min_interval_seconds', 300, 0, 31536000),
    (N'sap_run_log_days', 15, 1, 36500),
    (N'questions', 0, 0, 1),
    (N'question_retention_days', 1, 1, 30)
) AS k (name, default_value, lowest, highest)
LEFT JOIN jobs_internal.settings AS s ON s.name = k.name;
