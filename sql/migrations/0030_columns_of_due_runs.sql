-- The log of a schedule is counted and paged in its index: it gets the columns that say which runs a purge has hidden.
-- size: with the runs of schedules; online in Enterprise, Developer and Azure, otherwise starts and ends of such runs wait
CREATE UNIQUE INDEX UQ_job_executions_due_at ON jobs_internal.job_executions (schedule_id, due_at)
    INCLUDE (job_id, create_time, end_time, purged_at)
    WHERE schedule_id IS NOT NULL
    WITH (DROP_EXISTING = ON);
