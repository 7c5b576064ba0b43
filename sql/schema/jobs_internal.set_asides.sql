-- What passes leave out, because the control database refused what a pass would have stored about it (DESIGN.md, "Set aside"). Usually
-- empty. No foreign keys: a row goes when its run, schedule or trigger is tried again, be it there or not.
--
-- Columns:
--   kind           Run (execution_id), Schedule (schedule_id: its waiting instants start no run) or Trigger (trigger_id: it starts no run).
--   first_id       The first id.
--   is_part        1: passes that jobs_internal.advance_part makes leave out a range. Such a row is never committed.
--   last_id        The last id; that of first_id unless is_part is 1.
--   created_at     Since when.
--   tries          How often it was tried, the first time included.
--   tried_at       When it was tried last.
--   retry_at       When it is to be tried again.
--   error_message  What the server answered; NULL if is_part is 1.
CREATE TABLE jobs_internal.set_asides (
    kind          NVARCHAR(10) NOT NULL,
    first_id      BIGINT NOT NULL,
    is_part       BIT NOT NULL,
    last_id       BIGINT NOT NULL,
    created_at    DATETIME2(7) NOT NULL,
    tries         INT NOT NULL,
    tried_at      DATETIME2(7) NOT NULL,
    retry_at      DATETIME2(7) NOT NULL,
    error_message NVARCHAR(2000) NULL,
    CONSTRAINT PK_set_asides PRIMARY KEY (kind, first_id, is_part),
    CONSTRAINT CK_set_asides_kind CHECK (kind IN (N'Run', N'Schedule', N'Trigger')),
    CONSTRAINT CK_set_asides_last_id CHECK (is_part = 1 OR last_id = first_id)
);
