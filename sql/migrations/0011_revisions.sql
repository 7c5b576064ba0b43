-- Adds revisions, by which changes name the state that they change, and the job of a secret.
ALTER TABLE jobs_internal.secrets ADD job_id UNIQUEIDENTIFIER NULL;

-- A batch of its own: this one is compiled before the columns exist.
EXECUTE sys.sp_executesql N'CREATE INDEX IX_secrets_job_id ON jobs_internal.secrets (job_id)
    WHERE job_id IS NOT NULL;';
