-- Lets steps retry only after errors that may pass by themselves. Steps that exist retry after all, as before.
ALTER TABLE jobs_internal.job_steps ADD retry_errors NVARCHAR(10) NOT NULL CONSTRAINT DF_job_steps_retry_errors DEFAULT N'All';

-- A batch of its own: this one is compiled before the column exists.
EXECUTE sys.sp_executesql N'ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_retry_errors
    CHECK (retry_errors IN (N''All'', N''Transient''));';
