-- Lets runs be limited to chosen databases. Runs that exist have no list, so they run on all databases of their target groups.
ALTER TABLE jobs_internal.job_executions ADD only_targets NVARCHAR(MAX) NULL;
