-- Finds with one key each whether a target is busy with another run of its job, when the next target of a paced wave starts, and the next
-- page of the known databases.
-- size: reads all targets of all runs, and those of active runs are in it; online in Enterprise, Developer and Azure, otherwise claims and
-- outcomes wait
CREATE INDEX IX_target_executions_active_target_id ON jobs_internal.target_executions (target_id, job_id, step_id)
    INCLUDE (execution_id)
    WHERE is_active = 1;

DROP INDEX IX_step_executions_active_job_id ON jobs_internal.step_executions;

-- size: with the known databases; online in Enterprise, Developer and Azure, otherwise lists of targets are read later
CREATE INDEX IX_targets_server_name ON jobs_internal.targets (server_name, database_name)
    INCLUDE (gone_at);

CREATE INDEX IX_rollout_paces_next_at ON jobs_internal.rollout_paces (next_at);
