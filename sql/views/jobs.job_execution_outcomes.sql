-- What jobs.job_executions cannot say of targets, since its columns are Azure's: whether anybody knows what became of the script. One
-- row a target of a step's execution.
--
-- Columns:
--   job_execution_id      Id of the run.
--   step_id               Number of the step.
--   target_id             Id of the database.
--   target_server_name    Server.
--   target_database_name  Database.
--   is_active             1 while not finished.
--   lifecycle             As in jobs.job_executions.
--   outcome_unknown       1: nobody can say whether the script ran in the latest attempt of which anything was sent, so that it may have
--                         run, wholly or in part, whatever the lifecycle is (Failed, TimedOut, Canceled, or still active).
--   rerun_state           What @only of jobs.sp_rerun_job_execution calls it: Unknown if outcome_unknown is 1, else the lifecycle; NULL
--                         while it is active and if it succeeded.
CREATE OR ALTER VIEW jobs.job_execution_outcomes
AS
SELECT
    e.job_execution_id,
    t.step_id,
    t.target_id,
    t.server_name AS target_server_name,
    t.database_name AS target_database_name,
    t.is_active,
    t.lifecycle,
    t.outcome_unknown,
    CAST(CASE
        WHEN t.is_active = 1 OR t.lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN NULL
        WHEN t.outcome_unknown = 1 THEN N'Unknown'
        ELSE t.lifecycle
    END AS NVARCHAR(50)) AS rerun_state
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id AND j.job_id = t.job_id -- both: a job's active rows have an index
WHERE e.purged_at IS NULL
    AND j.deleted_at IS NULL;
