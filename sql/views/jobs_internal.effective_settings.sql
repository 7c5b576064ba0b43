-- The settings of the whole system, with the effective value of each: the value in jobs_internal.settings if it is a number within the
-- setting's range, else the default. A value outside the range is ignored, because it would purge too much or nothing at all; "jobagent
-- doctor" reports it.
--
-- Columns:
--   name           Name of the setting.
--   value          The effective value.
--   default_value  The value without a row.
--   lowest         Lowest valid value.
--   highest        Highest valid value.
--   meaning        What the setting does, with its unit.
--   stored_value   Text in jobs_internal.settings; NULL: there is no row.
--   updated_at     When the row was written (UTC).
CREATE OR ALTER VIEW jobs_internal.effective_settings
AS
SELECT
    k.name,
    COALESCE(CASE WHEN TRY_CAST(s.value AS INT) BETWEEN k.lowest AND k.highest THEN TRY_CAST(s.value AS INT) END, k.default_value) AS value,
    k.default_value,
    k.lowest,
    k.highest,
    k.meaning,
    s.value AS stored_value,
    s.updated_at
FROM (VALUES
    -- At least 30, so that whoever shortens it cannot hide what was done lately.
    (N'audit_retention_days', 365, 30, 36500, N'How many days entries of the audit log are kept.'),
    (N'history_retention_days', 45, 0, 36500, N'How many days the history of ended runs is kept; 0: all of it is deleted every night.'),
    (N'schedule_retention_days', 60, 0, 36500, N'How many days schedules that are Completed or Faulted are kept.'),
    -- D-S6; SAP's service refuses less than 300.
    (N'schedule_min_interval_seconds', 0, 0, 31536000,
        N'A schedule with two instants that are closer together than so many seconds is Faulted when its text is validated.'),
    (N'unreachable_days', 10, 0, 36500, N'How many days no database of a job may be reachable until its schedules are disabled.'),
    (N'async_exec_timeout_seconds', 604800, 1, 31536000, N'How many seconds an action that was accepted waits for a report by default.'),
    (N'sap_min_interval_seconds', 300, 0, 31536000,
        N'The SAP surface refuses schedules with two instants that are closer together than so many seconds.'),
    (N'sap_run_log_days', 15, 1, 36500, N'How many days the SAP surface shows runs.'),
    (N'questions', 0, 0, 1, N'1 permits operators to ask target groups questions, with the credentials of the agents.'),
    (N'question_retention_days', 1, 1, 30, N'How many days questions that are asked from now on are kept with their answers.')
) AS k (name, default_value, lowest, highest, meaning)
LEFT JOIN jobs_internal.settings AS s ON s.name = k.name;
