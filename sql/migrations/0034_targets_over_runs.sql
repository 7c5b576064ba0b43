-- What the runs of each job did on a database is found by the database and the job, without reading the other targets of these runs. Its
-- columns never change, so neither a claim nor an outcome writes to it.
-- size: one key per target execution of the history; offline in editions that cannot build an index online
CREATE INDEX IX_target_executions_target_id ON jobs_internal.target_executions (target_id, job_id, execution_id);
