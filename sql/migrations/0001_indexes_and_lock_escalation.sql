-- Lets every hot read be answered by an index alone, gives the command line's lists an index in their order, and turns lock
-- escalation off for the tables in which one statement may lock thousands of rows (sql/DESIGN.md, "Order of locks").
CREATE INDEX IX_task_executions_held ON jobs_internal.task_executions (term_id, task_id)
    INCLUDE (kind, execution_id, step_execution_id, target_execution_id, attempt)
    WHERE ended_at IS NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_target_executions_due ON jobs_internal.target_executions (step_execution_id, next_attempt_at, target_execution_id)
    INCLUDE (queue_id, deadline_at)
    WHERE next_attempt_at IS NOT NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_target_executions_queue_id ON jobs_internal.target_executions (queue_id, next_attempt_at, target_execution_id)
    INCLUDE (step_execution_id, deadline_at)
    WHERE next_attempt_at IS NOT NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_job_executions_unaccounted ON jobs_internal.job_executions (execution_id)
    INCLUDE (job_id, schedule_id, lifecycle, end_time)
    WHERE unaccounted = 1 AND is_active = 0
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_job_executions_due_at ON jobs_internal.job_executions (due_at DESC, schedule_id)
    WHERE schedule_id IS NOT NULL;
CREATE INDEX IX_job_executions_rerun_of ON jobs_internal.job_executions (rerun_of)
    WHERE rerun_of IS NOT NULL;
CREATE INDEX IX_schedules_next_fire_at ON jobs_internal.schedules (next_fire_at)
    INCLUDE (next_due_at)
    WHERE next_fire_at IS NOT NULL
    WITH (DROP_EXISTING = ON);
CREATE INDEX IX_schedule_skips_due_at ON jobs_internal.schedule_skips (due_at DESC, schedule_id);
ALTER TABLE jobs_internal.job_executions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE jobs_internal.step_executions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE jobs_internal.target_executions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE jobs_internal.task_executions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE jobs_internal.task_messages SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE jobs_internal.schedules SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE jobs_internal.schedule_buffer SET (LOCK_ESCALATION = DISABLE);
