-- Finds the attempts of one target without reading those of all targets of the step.
CREATE INDEX IX_task_executions_execution_id ON jobs_internal.task_executions (execution_id, step_execution_id, target_execution_id)
    WITH (DROP_EXISTING = ON);
