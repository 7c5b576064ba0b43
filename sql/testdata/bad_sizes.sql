ALTER TABLE jobs_internal.job_executions ADD extra INT NULL;
ALTER TABLE jobs_internal.job_executions ADD more INT NOT NULL CONSTRAINT DF_job_executions_more DEFAULT 0;
ALTER TABLE jobs_internal.target_executions WITH CHECK
    ADD CONSTRAINT CK_target_executions_more CHECK (more = 0);
-- size: a second a million rows.
CREATE INDEX IX_task_executions_more ON jobs_internal.task_executions (more);
CREATE INDEX IX_task_messages_more ON jobs_internal.task_messages (more);
EXECUTE sys.sp_executesql N'UPDATE t SET t.more = 1 FROM jobs_internal.task_messages AS t;
UPDATE j SET j.more = 1 FROM jobs_internal.jobs AS j;';
-- batches: a thousand rows.
UPDATE jobs_internal.callbacks SET more = 1;
CREATE TABLE jobs_internal.fresh (id INT NOT NULL REFERENCES jobs_internal.terms (term_id));
CREATE INDEX IX_fresh_id ON jobs_internal.fresh (id);
