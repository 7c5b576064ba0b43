-- When a pass of any agent has last moved executions on: one row. It is for people, who see by it that nothing moves although agents
-- are alive (view jobs_internal.advance_status); nothing is decided by it.
--
-- Columns:
--   id                1.
--   last_advanced_at  When jobs_internal.advance last ran, give or take a second.
CREATE TABLE jobs_internal.advance_state (
    id               TINYINT NOT NULL CONSTRAINT DF_advance_state_id DEFAULT 1,
    last_advanced_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_advance_state PRIMARY KEY (id),
    CONSTRAINT CK_advance_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.advance_state (last_advanced_at)
VALUES ('2000-01-01');
