-- Due instants that wait until an earlier run of their schedule has ended (overlap BufferOne, BufferAll, CancelOther).
-- They are neither run nor skipped yet.
--
-- Columns:
--   schedule_id  The schedule.
--   due_at       The instant.
--   job_id       The schedule's job.
--   backfill_id  Backfill that requested it; NULL: the schedule itself.
--   buffered_at  When the row was created.
CREATE TABLE jobs_internal.schedule_buffer (
    schedule_id BIGINT NOT NULL,
    due_at      DATETIME2(7) NOT NULL,
    job_id      UNIQUEIDENTIFIER NOT NULL,
    backfill_id BIGINT NULL,
    buffered_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_schedule_buffer PRIMARY KEY (schedule_id, due_at),
    CONSTRAINT FK_schedule_buffer_schedules FOREIGN KEY (schedule_id)
        REFERENCES jobs_internal.schedules (schedule_id) ON DELETE CASCADE
);

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.schedule_buffer SET (LOCK_ESCALATION = DISABLE);
