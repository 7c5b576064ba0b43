-- The revision of what windows databases have: one row. A change of a window, or of tags while a window depends on tags, raises it. What
-- gated_targets says of a database holds for one revision.
--
-- Columns:
--   id          1.
--   revision    The number of changes.
--   changed_at  When the last one was made; NULL: there was none.
CREATE TABLE jobs_internal.window_state (
    id         TINYINT NOT NULL CONSTRAINT DF_window_state_id DEFAULT 1,
    revision   BIGINT NOT NULL,
    changed_at DATETIME2(7) NULL,
    CONSTRAINT PK_window_state PRIMARY KEY (id),
    CONSTRAINT CK_window_state_id CHECK (id = 1)
);

INSERT INTO jobs_internal.window_state (revision)
VALUES (0);
