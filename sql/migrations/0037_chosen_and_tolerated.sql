-- Lets runs be limited to chosen databases. Runs that exist have no list, so they run on all databases of their target groups.
ALTER TABLE jobs_internal.job_executions ADD only_targets NVARCHAR(MAX) NULL;

-- Lets steps succeed although some targets failed. Steps that exist tolerate no failure, as before.
ALTER TABLE jobs_internal.job_steps ADD tolerated_failures NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_tolerated_failures DEFAULT N'0';

-- A batch of its own: this one is compiled before the column exists.
EXECUTE sys.sp_executesql N'ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_tolerated_failures
    CHECK (tolerated_failures NOT LIKE N''%[^0-9%]%'');';

ALTER TABLE jobs_internal.step_executions ADD tolerated INT NULL;
