-- When a pass of any agent last advanced executions: one row. It shows that nothing advances although agents are live (view
-- jobs_internal.advance_status), and that nobody could write, or that the clock has jumped, so that no term may end yet
-- (jobs_internal.begin_pass).
--
-- Columns:
--   id                1.
--   last_advanced_at  When jobs_internal.advance last ran, to within a second.
--   terms_until       No term ends before: a lease after the first pass that followed a gap.
--   gaps              Number of gaps in succession that have kept a term from ending.
CREATE TABLE jobs_internal.advance_state (
    id               TINYINT NOT NULL CONSTRAINT DF_advance_state_id DEFAULT 1,
    last_advanced_at DATETIME2(7) NOT NULL,
    terms_until      DATETIME2(7) NOT NULL CONSTRAINT DF_advance_state_terms_until DEFAULT '2000-01-01',
    gaps             INT NOT NULL CONSTRAINT DF_advance_state_gaps DEFAULT 0,
    CONSTRAINT PK_advance_state PRIMARY KEY (id),
    CONSTRAINT CK_advance_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.advance_state (last_advanced_at)
VALUES ('2000-01-01');
