-- Lets runs try their scripts, or check what these need, in place of running them. Runs that exist have no mode: their scripts run.
ALTER TABLE jobs_internal.job_executions ADD mode NVARCHAR(10) NULL;
ALTER TABLE jobs_internal.job_executions ADD mode_options NVARCHAR(400) NULL;

-- size: reads all runs, and starts and ends of runs wait meanwhile
ALTER TABLE jobs_internal.job_executions WITH CHECK ADD CONSTRAINT CK_job_executions_mode CHECK (
        (mode IS NULL AND mode_options IS NULL)
        OR (mode IN (N'Trial', N'Preflight') AND (mode_options IS NULL OR ISJSON(mode_options) = 1))
    );

-- size: reads all runs, and none is in it yet; online in Enterprise, Developer and Azure, otherwise starts and ends of runs wait
CREATE INDEX IX_job_executions_active_mode ON jobs_internal.job_executions (execution_id)
    INCLUDE (mode)
    WHERE is_active = 1 AND mode IS NOT NULL;
