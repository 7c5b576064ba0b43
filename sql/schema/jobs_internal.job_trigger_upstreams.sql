-- The jobs whose runs a trigger watches.
--
-- Columns:
--   trigger_id       The trigger. No foreign key: its check would lock rows of triggers in another order.
--   upstream_job_id  A job that it watches. No foreign key, because a check would wait for the job's row: jobs.sp_delete_job refuses to
--                    delete such a job.
CREATE TABLE jobs_internal.job_trigger_upstreams (
    trigger_id      BIGINT NOT NULL,
    upstream_job_id UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT PK_job_trigger_upstreams PRIMARY KEY (trigger_id, upstream_job_id)
);

CREATE INDEX IX_job_trigger_upstreams_upstream_job_id ON jobs_internal.job_trigger_upstreams (upstream_job_id);
