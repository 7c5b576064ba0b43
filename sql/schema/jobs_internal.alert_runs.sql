-- Runs that have ended, and that no evaluation of alerts has seen. The transaction that ends a run enters it, if a rule watches runs, so
-- none is missed, however late that transaction commits; evaluate_alerts removes it.
--
-- Columns:
--   execution_id  The run. No foreign key: it may be purged before.
CREATE TABLE jobs_internal.alert_runs (
    execution_id BIGINT NOT NULL,
    CONSTRAINT PK_alert_runs PRIMARY KEY (execution_id)
);

-- Many runs may end at once; a table lock would block passes (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.alert_runs SET (LOCK_ESCALATION = DISABLE);
