-- Settings of the whole system; jobs.sp_set_setting changes them. A setting without a row has its default
-- (jobs_internal.effective_settings).
--
-- Columns:
--   name        audit_retention_days (default 365): how long entries of the audit log are kept; at least 30, so that whoever shortens
--               it cannot hide what was done lately.
--               history_retention_days (default 45): how long the history of finished runs is kept.
--               schedule_retention_days (default 60): how long schedules that are Completed or Faulted are kept.
--               schedule_min_interval_seconds (default 0: any): a schedule of which two instants are closer together is Faulted when its
--               text is validated (D-S6; SAP's service refuses less than 300).
--               unreachable_days (default 10): how long no target of a job may be reachable until its schedules are disabled.
--               async_exec_timeout_seconds (default 604800, a week): how long an action that was accepted waits for a report, unless its
--               definition says so. It applies to waits that begin after it was set.
--               sap_min_interval_seconds (default 300): the SAP surface refuses schedules with two instants that are closer together.
--               sap_run_log_days (default 15): how long the SAP surface shows runs.
--               questions (default 0): 1 permits operators to ask target groups questions (jobs.sp_ask_question).
--               question_retention_days (default 1): how long questions that are asked from now on are kept with their answers.
--   value       Text of the value.
--   updated_at  When the setting was changed.
CREATE TABLE jobs_internal.settings (
    name       NVARCHAR(128) NOT NULL,
    value      NVARCHAR(4000) NOT NULL,
    updated_at DATETIME2(7) NOT NULL CONSTRAINT DF_settings_updated_at DEFAULT SYSUTCDATETIME(),
    CONSTRAINT PK_settings PRIMARY KEY (name)
);
