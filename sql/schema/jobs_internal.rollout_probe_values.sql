-- What the probes of waves returned: one row for each target of a run of a probe job on which its last T-SQL step succeeded.
--
-- Columns:
--   execution_id  The run of the probe job.
--   target_id     Public id of the database.
--   row_count     Rows of all result sets of the script.
--   value         The first column of the first row of the first result set, rounded to six decimals; NULL: there is no such row, or it is
--                 NULL, no number, or 10^22 or more.
CREATE TABLE jobs_internal.rollout_probe_values (
    execution_id BIGINT NOT NULL,
    target_id    UNIQUEIDENTIFIER NOT NULL,
    row_count    BIGINT NOT NULL,
    value        DECIMAL(28, 6) NULL,
    CONSTRAINT PK_rollout_probe_values PRIMARY KEY (execution_id, target_id)
);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.rollout_probe_values SET (LOCK_ESCALATION = DISABLE);
