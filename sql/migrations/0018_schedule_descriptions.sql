-- The words of a schedule, and when its validation must be renewed.
ALTER TABLE jobs_internal.schedules ADD
    description NVARCHAR(4000) NULL,
    recheck_at  DATETIME2(7) NULL;

EXECUTE sys.sp_executesql N'CREATE INDEX IX_schedules_recheck_at ON jobs_internal.schedules (recheck_at)
    WHERE recheck_at IS NOT NULL;';
