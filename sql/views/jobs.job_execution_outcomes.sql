-- Targets of step executions, with the information for which jobs.job_executions has no column, because its columns are
-- Azure's: whether the outcome of the script is unknown. One row per target of a step's execution.
--
-- Columns:
--   job_execution_id      Id of the run.
--   step_id               Number of the step.
--   target_id             Id of the database.
--   target_server_name    Server.
--   target_database_name  Database; NULL for the endpoint of an action.
--   is_active             1: not final.
--   lifecycle             As in jobs.job_executions.
--   outcome_unknown       1: it is unknown whether the script ran in the latest attempt that sent anything, so it may
--                         have run, wholly or in part, or may still run, whatever the lifecycle is (Failed, TimedOut,
--                         Canceled, or still active).
--   rerun_state           The state for @only of jobs.sp_rerun_job_execution: Unknown if outcome_unknown is 1, else the
--                         lifecycle; NULL while the target is active and if it succeeded.
CREATE OR ALTER VIEW jobs.job_execution_outcomes
AS
SELECT
    e.job_execution_id,
    t.step_id,
    t.target_id,
    t.server_name AS target_server_name,
    CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS target_database_name,
    t.is_active,
    CASE WHEN t.lifecycle = N'WaitingForCallback' THEN N'InProgress' ELSE t.lifecycle END AS lifecycle,
    t.outcome_unknown,
    CAST(CASE
        WHEN t.is_active = 1 OR t.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN NULL
        WHEN t.outcome_unknown = 1 THEN N'Unknown'
        ELSE t.lifecycle
    END AS NVARCHAR(50)) AS rerun_state
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = t.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id AND j.job_id = t.job_id -- both: a job's active rows have an index
WHERE j.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS w WHERE w.step_execution_id = t.step_execution_id);
