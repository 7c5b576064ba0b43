-- How far steps were read for the table targets: one row. Only jobs_internal.register_targets uses it, one session at a time.
--
-- Columns:
--   id         1.
--   last_step  The last step that was read. Steps are created under jobagent.advance, so they become visible in the order of their ids.
CREATE TABLE jobs_internal.target_state (
    id        TINYINT NOT NULL CONSTRAINT DF_target_state_id DEFAULT 1,
    last_step BIGINT NOT NULL,
    CONSTRAINT PK_target_state PRIMARY KEY (id),
    CONSTRAINT CK_target_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.target_state (last_step)
VALUES (0);
