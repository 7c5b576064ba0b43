-- An evaluation of alerts is made of small transactions: the state says where the next one begins. Steps keep the numbers of their targets, so
-- that nobody counts them again.
ALTER TABLE jobs_internal.alert_state ADD
    next_stage INT NOT NULL CONSTRAINT DF_alert_state_next_stage DEFAULT 0,
    run_batch  INT NOT NULL CONSTRAINT DF_alert_state_run_batch DEFAULT 500,
    runs_after BIGINT NOT NULL CONSTRAINT DF_alert_state_runs_after DEFAULT 0;
ALTER TABLE jobs_internal.step_executions ADD
    targets       INT NULL,
    not_succeeded INT NULL;
-- Only steps of runs that have not been evaluated yet need them.
EXECUTE sys.sp_executesql N'UPDATE s
SET s.targets = c.targets,
    s.not_succeeded = c.not_succeeded
FROM (
    SELECT
        t.step_execution_id,
        COUNT(*) AS targets,
        SUM(CASE WHEN t.lifecycle IN (N''Failed'', N''TimedOut'', N''Canceled'') THEN 1 ELSE 0 END) AS not_succeeded
    FROM jobs_internal.step_executions AS x
    INNER JOIN jobs_internal.target_executions AS t ON t.step_execution_id = x.step_execution_id
    WHERE x.is_active = 0
        AND (
            x.execution_id IN (SELECT e.execution_id FROM jobs_internal.job_executions AS e WHERE e.is_active = 1)
            OR x.execution_id IN (SELECT q.execution_id FROM jobs_internal.alert_runs AS q)
        )
    GROUP BY t.step_execution_id
) AS c
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = c.step_execution_id;';
CREATE INDEX IX_job_executions_active_create_time ON jobs_internal.job_executions (create_time DESC, job_execution_id)
    INCLUDE (job_id, lifecycle)
    WHERE is_active = 1
    WITH (DROP_EXISTING = ON);
