-- Rules of alerts about jobs without runs find the last end of a job by its lifecycle, without reading the other runs.
-- size: with all runs that have ended; online in Enterprise, Developer and Azure, otherwise starts and ends of runs wait
CREATE INDEX IX_job_executions_job_id_lifecycle ON jobs_internal.job_executions (job_id, lifecycle, end_time)
    WHERE is_active = 0;
