-- Schedules. Each job has one whose name is empty: the schedule of jobs.sp_add_job.
--
-- Columns:
--   schedule_id     Identifies the schedule.
--   job_id          Whose it is.
--   name            Unique within the job; empty for the one of jobs.sp_add_job.
--   kind            How it is written down: elastic (interval_type to end_time), or a kind whose text is in spec.
--   spec            Text of a kind other than elastic.
--   interval_type   Once, Minutes, Hours, Days, Weeks or Months.
--   interval_count  Units between two due instants.
--   start_time      Earliest instant at which a run may begin.
--   end_time        Instant after which none may begin.
--   time_zone       IANA name of the zone in which a spec is read.
--   enabled         1: due instants become runs.
--   state           Enabled, Disabled, Completed (no due instant is left) or Faulted (the spec cannot be read).
--   reason          Why it is in its state; NULL when nobody has to ask.
--   anchor_at       Where the grid of due instants begins (decision 10); NULL: was never enabled.
--   next_due_at     The next due instant that was not handled yet; NULL: none is known.
--   last_due_at     The last due instant that was handled.
--   executions      Runs that it has started.
--   skips           Due instants that were recorded as skipped.
--   updated_at      When its definition changed.
CREATE TABLE jobs_internal.schedules (
    schedule_id    BIGINT NOT NULL IDENTITY(1, 1),
    job_id         UNIQUEIDENTIFIER NOT NULL,
    name           NVARCHAR(128) NOT NULL CONSTRAINT DF_schedules_name DEFAULT N'',
    kind           NVARCHAR(20) NOT NULL CONSTRAINT DF_schedules_kind DEFAULT N'elastic',
    spec           NVARCHAR(MAX) NULL,
    interval_type  NVARCHAR(50) NULL,
    interval_count INT NULL,
    start_time     DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_start_time DEFAULT '0001-01-01T00:00:00',
    end_time       DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_end_time DEFAULT '9999-12-31T11:59:59',
    time_zone      NVARCHAR(128) NOT NULL CONSTRAINT DF_schedules_time_zone DEFAULT N'UTC',
    enabled        BIT NOT NULL CONSTRAINT DF_schedules_enabled DEFAULT 0,
    state          NVARCHAR(20) NOT NULL CONSTRAINT DF_schedules_state DEFAULT N'Disabled',
    reason         NVARCHAR(4000) NULL,
    anchor_at      DATETIME2(7) NULL,
    next_due_at    DATETIME2(7) NULL,
    last_due_at    DATETIME2(7) NULL,
    executions     BIGINT NOT NULL CONSTRAINT DF_schedules_executions DEFAULT 0,
    skips          BIGINT NOT NULL CONSTRAINT DF_schedules_skips DEFAULT 0,
    updated_at     DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_updated_at DEFAULT SYSUTCDATETIME(),
    CONSTRAINT PK_schedules PRIMARY KEY (schedule_id),
    CONSTRAINT UQ_schedules_name UNIQUE (job_id, name),
    CONSTRAINT FK_schedules_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE,
    CONSTRAINT CK_schedules_interval_type
        CHECK (interval_type IN (N'Once', N'Minutes', N'Hours', N'Days', N'Weeks', N'Months')),
    CONSTRAINT CK_schedules_interval_count CHECK (interval_count >= 1),
    CONSTRAINT CK_schedules_state CHECK (state IN (N'Enabled', N'Disabled', N'Completed', N'Faulted')),
    CONSTRAINT CK_schedules_kind CHECK (kind <> N'elastic' OR (interval_type IS NOT NULL AND interval_count IS NOT NULL))
);

CREATE INDEX IX_schedules_next_due_at ON jobs_internal.schedules (next_due_at)
    WHERE enabled = 1 AND next_due_at IS NOT NULL;
