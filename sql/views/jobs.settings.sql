-- The settings of the whole system; jobs.sp_set_setting changes them. A setting applies to later decisions.
--
-- Columns:
--   name           Name of the setting.
--   value          The value that applies.
--   default_value  The value of a setting that was not set.
--   lowest_value   Lowest value that may be set.
--   highest_value  Highest value that may be set.
--   is_default     1: the setting was not set, or what was stored is ignored because it is outside the range.
--   meaning        What the setting does, with its unit.
--   updated_time   When the setting was set (UTC); NULL: it was not.
CREATE OR ALTER VIEW jobs.settings
AS
SELECT
    v.name,
    v.value,
    v.default_value,
    v.lowest AS lowest_value,
    v.highest AS highest_value,
    CAST(CASE WHEN TRY_CAST(v.stored_value AS INT) = v.value THEN 0 ELSE 1 END AS BIT) AS is_default,
    v.meaning,
    v.updated_at AS updated_time
FROM jobs_internal.effective_settings AS v;
