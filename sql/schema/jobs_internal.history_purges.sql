-- Purges of jobs' histories whose runs are not all marked yet (job_executions.purged_at). A purge is one row, however many runs it hides:
-- the view jobs_internal.visible_runs leaves them out. mark_purged_runs marks them in batches, and then deletes the row.
--
-- Columns:
--   purge_id        Increases over time.
--   job_id          The job. No foreign key: the last batch of a purge deletes the row, also when the job is gone.
--   created_before  The purge hides runs that were created before this time,
--   ended_before    and had ended by this time, which is that of the purge: runs that were active stay.
--   purged_at       When it was requested.
--   marked_at       When a batch was last marked; the purge that was served longest ago is next.
--   position_at, position_id  Create time and public id of the last run of the last batch; NULL: none was marked.
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
