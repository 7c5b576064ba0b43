-- A purge hides runs by one row instead of a change of each run. The indexes that cover reads of runs get the columns that are compared with it.
CREATE TABLE jobs_internal.history_purges (
    purge_id       BIGINT NOT NULL IDENTITY(1, 1),
    job_id         UNIQUEIDENTIFIER NOT NULL,
    created_before DATETIME2(7) NOT NULL,
    ended_before   DATETIME2(7) NOT NULL,
    purged_at      DATETIME2(7) NOT NULL,
    marked_at      DATETIME2(7) NOT NULL,
    position_at    DATETIME2(7) NULL,
    position_id    UNIQUEIDENTIFIER NULL,
    CONSTRAINT PK_history_purges PRIMARY KEY (job_id, purge_id)
);
-- size: active runs only; online in Enterprise, Developer and Azure.
CREATE INDEX IX_job_executions_active_create_time ON jobs_internal.job_executions (create_time DESC, job_execution_id)
    INCLUDE (job_id, lifecycle, end_time, purged_at)
    WHERE is_active = 1
    WITH (DROP_EXISTING = ON);
-- size: grows with the ended runs; online in Enterprise, Developer and Azure.
CREATE INDEX IX_job_executions_end_time ON jobs_internal.job_executions (end_time)
    INCLUDE (job_id, create_time, purged_at)
    WHERE is_active = 0 AND purged_at IS NULL
    WITH (DROP_EXISTING = ON);
-- size: grows with the runs that did not succeed; online in Enterprise, Developer and Azure.
CREATE INDEX IX_job_executions_unsuccessful ON jobs_internal.job_executions (end_time)
    INCLUDE (job_execution_id, job_id, job_version, create_time, purged_at)
    WHERE lifecycle IN (N'Canceled', N'Failed', N'TimedOut')
    WITH (DROP_EXISTING = ON);
