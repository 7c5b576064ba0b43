-- The rules of alerts that are enabled, in the form in which evaluations compare them. A rule with a job_id watches this job; one with a
-- like_pattern watches the jobs with such names; one with neither watches all jobs.
--
-- Columns:
--   rule_id       and all others: as in jobs_internal.alert_rules.
--   like_pattern  job_pattern as a pattern of LIKE; NULL: the rule has none.
--   like_group    group_pattern as a pattern of LIKE; NULL: the rule has none.
--   lifecycles    Between commas: ,Failed,TimedOut, or ,, if the rule has none.
CREATE OR ALTER VIEW jobs_internal.enabled_alert_rules
AS
SELECT
    r.rule_id,
    r.name,
    r.condition,
    r.severity,
    r.job_id,
    REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
        r.job_pattern, N'[', N'[[]'), N'%', N'[%]'), N'_', N'[_]'), N'*', N'%'), N'?', N'_') AS like_pattern,
    CONCAT(N',', r.lifecycles, N',') AS lifecycles,
    r.percent_failed,
    r.factor,
    r.runs,
    r.seconds,
    r.throttle_seconds,
    r.watches_from,
    r.updated_at,
    r.percent_changed,
    REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
        r.group_pattern, N'[', N'[[]'), N'%', N'[%]'), N'_', N'[_]'), N'*', N'%'), N'?', N'_') AS like_group
FROM jobs_internal.alert_rules AS r
WHERE r.enabled = 1;
