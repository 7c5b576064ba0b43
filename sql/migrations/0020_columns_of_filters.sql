-- Rebuilds indexes, so that each has the columns that its filter compares with NULL: SQL Server otherwise reads the row in the clustered
-- index for every key, to compare the column again. IX_job_executions_end_time also gets the job, with which a purge chooses runs, and
-- IX_target_executions_failed loses the message, which was stored twice. The last statement leaves room in an index of random keys.
-- Each statement stands alone and can be built online.
CREATE INDEX IX_task_executions_held ON jobs_internal.task_executions (term_id, task_id)
    INCLUDE (kind, execution_id, step_execution_id, target_execution_id, attempt, ended_at)
    WHERE ended_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE UNIQUE INDEX UQ_terms_agent_id ON jobs_internal.terms (agent_id)
    INCLUDE (ended_at)
    WHERE ended_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_terms_expires_at ON jobs_internal.terms (expires_at)
    INCLUDE (ended_at)
    WHERE ended_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE UNIQUE INDEX UQ_alerts_subject_key ON jobs_internal.alerts (rule_id, subject_key)
    INCLUDE (resolved_at)
    WHERE resolved_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_callbacks_deadline_at ON jobs_internal.callbacks (deadline_at)
    INCLUDE (closed_at)
    WHERE deadline_at IS NOT NULL AND closed_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_callbacks_received_at ON jobs_internal.callbacks (received_at)
    INCLUDE (deadline_at, closed_at)
    WHERE received_at IS NOT NULL AND deadline_at IS NOT NULL AND closed_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE UNIQUE INDEX UQ_jobs_name ON jobs_internal.jobs (name)
    INCLUDE (deleted_at)
    WHERE deleted_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE UNIQUE INDEX UQ_limits_name ON jobs_internal.limits (scope, name, server_name)
    INCLUDE (job_id)
    WHERE job_id IS NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_target_executions_next_attempt_at ON jobs_internal.target_executions (next_attempt_at)
    INCLUDE (deadline_at)
    WHERE next_attempt_at IS NOT NULL AND deadline_at IS NOT NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_target_executions_deadline_at ON jobs_internal.target_executions (deadline_at)
    INCLUDE (next_attempt_at)
    WHERE next_attempt_at IS NOT NULL AND deadline_at IS NOT NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_target_executions_failed ON jobs_internal.target_executions (execution_id, step_id)
    INCLUDE (lifecycle, end_time, error_number, server_name, database_name)
    WHERE lifecycle IN (N'Failed', N'TimedOut')
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_job_executions_end_time ON jobs_internal.job_executions (end_time)
    INCLUDE (job_id, purged_at)
    WHERE is_active = 0 AND purged_at IS NULL
    WITH (DROP_EXISTING = ON);
ALTER INDEX UQ_job_executions_job_execution_id ON jobs_internal.job_executions REBUILD WITH (FILLFACTOR = 85);
