-- Each list and each outcome writes to this index in random order. jobs_internal.write_list finds busy targets without it.
DROP INDEX IX_target_executions_active_target_id ON jobs_internal.target_executions;
