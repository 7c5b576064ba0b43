-- Active runs that rules with the condition RunTooLong watch: from when on each of them takes too long. It is computed once
-- per run and state of the rule.
--
-- Columns:
--   rule_id       The rule. No foreign key: evaluate_alerts removes rows that are not needed any more.
--   execution_id  The run.
--   is_computed   1: the next two columns have their values.
--   limit_at      When it takes too long; NULL: the job has too few good runs for a median.
--   median_seconds  The median; NULL: there is none.
--   is_raised     1: an alert was raised while the run was still going.
--   computed_for  updated_at of the rule when they were computed; another one: they are computed again. NULL likewise.
CREATE TABLE jobs_internal.alert_run_limits (
    rule_id        INT NOT NULL,
    execution_id   BIGINT NOT NULL,
    is_computed    BIT NOT NULL CONSTRAINT DF_alert_run_limits_is_computed DEFAULT 0,
    limit_at       DATETIME2(7) NULL,
    median_seconds DECIMAL(18, 3) NULL,
    is_raised      BIT NOT NULL CONSTRAINT DF_alert_run_limits_is_raised DEFAULT 0,
    computed_for   DATETIME2(7) NULL,
    CONSTRAINT PK_alert_run_limits PRIMARY KEY (rule_id, execution_id)
);
