-- Active runs that rules with the condition RunTooLong watch: from when on each of them takes too long. It is computed once per run.
--
-- Columns:
--   rule_id       The rule. No foreign key: evaluate_alerts removes rows that are not needed any more.
--   execution_id  The run.
--   limit_at      When it takes too long; NULL: the job has too few runs for a median, or the alert was raised.
--   median_seconds  The median; NULL: there is none.
CREATE TABLE jobs_internal.alert_run_limits (
    rule_id        INT NOT NULL,
    execution_id   BIGINT NOT NULL,
    limit_at       DATETIME2(7) NULL,
    median_seconds DECIMAL(18, 3) NULL,
    CONSTRAINT PK_alert_run_limits PRIMARY KEY (rule_id, execution_id)
);
