-- Requests to run the due instants of a past range now (D-P6).
--
-- Columns:
--   backfill_id   Increases over time.
--   schedule_id   The schedule.
--   from_at       First instant of the range.
--   to_at         Last instant of the range.
--   overlap       Overlap policy of its runs.
--   state         Open, Completed, Canceled (also when the schedule was changed or deleted) or Faulted (its text is
--                 invalid).
--   reason        Why it is Canceled or Faulted; NULL otherwise.
--   next_at       Next instant to handle; NULL: the backfill has not begun, or nothing is left.
--   started       Number of runs that it started.
--   skipped       Number of instants that it skipped.
--   requested_by  Login that requested it.
--   requested_at  When it was requested.
--   ended_at      When its state became final; NULL while it is Open.
CREATE TABLE jobs_internal.schedule_backfills (
    backfill_id  BIGINT NOT NULL IDENTITY(1, 1),
    schedule_id  BIGINT NOT NULL,
    from_at      DATETIME2(7) NOT NULL,
    to_at        DATETIME2(7) NOT NULL,
    overlap      NVARCHAR(20) NOT NULL,
    state        NVARCHAR(20) NOT NULL CONSTRAINT DF_schedule_backfills_state DEFAULT N'Open',
    reason       NVARCHAR(4000) NULL,
    next_at      DATETIME2(7) NULL,
    started      BIGINT NOT NULL CONSTRAINT DF_schedule_backfills_started DEFAULT 0,
    skipped      BIGINT NOT NULL CONSTRAINT DF_schedule_backfills_skipped DEFAULT 0,
    requested_by NVARCHAR(128) NOT NULL,
    requested_at DATETIME2(7) NOT NULL,
    ended_at     DATETIME2(7) NULL,
    CONSTRAINT PK_schedule_backfills PRIMARY KEY (backfill_id),
    CONSTRAINT FK_schedule_backfills_schedules FOREIGN KEY (schedule_id)
        REFERENCES jobs_internal.schedules (schedule_id) ON DELETE CASCADE,
    CONSTRAINT CK_schedule_backfills_range CHECK (to_at >= from_at),
    CONSTRAINT CK_schedule_backfills_state CHECK (
        (state = N'Open' AND ended_at IS NULL)
        OR (state IN (N'Completed', N'Canceled', N'Faulted') AND ended_at IS NOT NULL)
    ),
    CONSTRAINT CK_schedule_backfills_overlap
        CHECK (overlap IN (N'Skip', N'BufferOne', N'BufferAll', N'CancelOther', N'TerminateOther', N'AllowAll', N'Elastic'))
);

CREATE INDEX IX_schedule_backfills_open ON jobs_internal.schedule_backfills (backfill_id)
    WHERE state = N'Open';
CREATE INDEX IX_schedule_backfills_schedule_id ON jobs_internal.schedule_backfills (schedule_id, backfill_id);
CREATE INDEX IX_schedule_backfills_ended_at ON jobs_internal.schedule_backfills (ended_at)
    WHERE ended_at IS NOT NULL;
