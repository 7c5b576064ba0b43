-- Adds the indexes with which the overview finds failures, and Faulted schedules: each contains only such rows.
CREATE INDEX IX_target_executions_failed ON jobs_internal.target_executions (execution_id, step_id)
    INCLUDE (lifecycle, end_time, error_number, server_name, database_name, last_message)
    WHERE lifecycle IN (N'Failed', N'TimedOut');
CREATE INDEX IX_job_executions_unsuccessful ON jobs_internal.job_executions (end_time)
    INCLUDE (job_execution_id, job_id, job_version, purged_at)
    WHERE lifecycle IN (N'Canceled', N'Failed', N'TimedOut');
CREATE INDEX IX_schedules_faulted ON jobs_internal.schedules (closed_at)
    WHERE state = N'Faulted';
