-- Due instants that were not run, each with its reason (I10).
--
-- Columns:
--   skip_id      Internal key.
--   schedule_id  The schedule. No foreign key: the record outlives the schedule, but not the job.
--   job_id       The job.
--   due_at       The instant, or the first of several instants.
--   skipped      Number of instants that the row stands for.
--   cause        Overlap (an earlier run was active), CatchUp (missed, and not made up), NoSteps, Disabled, Paused,
--                Changed or Deleted (the change of the schedule while the instant waited for an earlier run to end), or
--                Other. The constraint also allows Ended and Duplicate, which are not recorded: no instant is due after
--                the schedule's end, and an instant that already has a run gets no record.
--   reason       The reason as a sentence.
--   recorded_at  When the row was recorded.
CREATE TABLE jobs_internal.schedule_skips (
    skip_id     BIGINT NOT NULL IDENTITY(1, 1),
    schedule_id BIGINT NOT NULL,
    job_id      UNIQUEIDENTIFIER NOT NULL,
    due_at      DATETIME2(7) NOT NULL,
    skipped     INT NOT NULL CONSTRAINT DF_schedule_skips_skipped DEFAULT 1,
    cause       NVARCHAR(20) NOT NULL CONSTRAINT DF_schedule_skips_cause DEFAULT N'Other',
    reason      NVARCHAR(4000) NOT NULL,
    recorded_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_schedule_skips PRIMARY KEY (skip_id),
    CONSTRAINT UQ_schedule_skips_due_at UNIQUE (schedule_id, due_at),
    CONSTRAINT FK_schedule_skips_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE,
    CONSTRAINT CK_schedule_skips_cause CHECK (cause IN (
        N'Overlap', N'CatchUp', N'NoSteps', N'Ended', N'Duplicate', N'Disabled', N'Paused', N'Changed', N'Deleted', N'Other'
    ))
);

CREATE INDEX IX_schedule_skips_job_id ON jobs_internal.schedule_skips (job_id);
CREATE INDEX IX_schedule_skips_recorded_at ON jobs_internal.schedule_skips (recorded_at);

CREATE INDEX IX_schedule_skips_due_at ON jobs_internal.schedule_skips (due_at DESC, schedule_id);
