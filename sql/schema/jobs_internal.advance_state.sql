-- When a pass of any agent last advanced executions: one row. It only serves diagnosis: it shows that nothing advances
-- although agents are live (view jobs_internal.advance_status). No decision depends on it.
--
-- Columns:
--   id                1.
--   last_advanced_at  When jobs_internal.advance last ran, to within a second.
CREATE TABLE jobs_internal.advance_state (
    id               TINYINT NOT NULL CONSTRAINT DF_advance_state_id DEFAULT 1,
    last_advanced_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_advance_state PRIMARY KEY (id),
    CONSTRAINT CK_advance_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.advance_state (last_advanced_at)
VALUES ('2000-01-01');
