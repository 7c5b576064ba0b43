-- The windows of databases (gated_targets): an attempt starts only while all of them are open.
--
-- Columns:
--   target_id  The database.
--   answer_id  The row of window_answers.
CREATE TABLE jobs_internal.target_gates (
    target_id UNIQUEIDENTIFIER NOT NULL,
    answer_id BIGINT NOT NULL,
    CONSTRAINT PK_target_gates PRIMARY KEY (target_id, answer_id)
);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.target_gates SET (LOCK_ESCALATION = DISABLE);
