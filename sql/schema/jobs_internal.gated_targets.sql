-- Databases whose windows are known, because a claim has asked for them (match_windows).
--
-- Columns:
--   target_id  The database.
--   revision   The revision of window_state for which target_gates has its windows; with another one, they are found anew.
CREATE TABLE jobs_internal.gated_targets (
    target_id UNIQUEIDENTIFIER NOT NULL,
    revision  BIGINT NOT NULL,
    CONSTRAINT PK_gated_targets PRIMARY KEY (target_id)
);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.gated_targets SET (LOCK_ESCALATION = DISABLE);
