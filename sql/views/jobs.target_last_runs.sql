-- The newest run of each known database: the target execution of its last step there. A database without a run in the history has no row;
-- trials and preflights are no runs here.
-- The runs of a database are read for each row, so ask for few databases, such as those of a condition on jobs.targets.
-- jobs.sp_get_target_runs lists all runs of a database.
--
-- Columns:
--   target_id         Id of the database, as in jobs.targets.
--   server_name       Name of the server.
--   database_name     Name of the database.
--   job_execution_id  Id of the run.
--   job_name          Name of the job.
--   step_id           Number of the step.
--   lifecycle         Lifecycle of the step on the database.
--   create_time       When the run was created (UTC).
--   start_time        When the first attempt began (UTC); NULL: none has begun.
--   end_time          When it became final (UTC); NULL: it has not ended.
CREATE OR ALTER VIEW jobs.target_last_runs
AS
SELECT
    t.target_id,
    t.server_name,
    t.database_name,
    r.job_execution_id,
    r.job_name,
    r.step_id,
    CASE WHEN r.lifecycle = N'WaitingForCallback' THEN N'InProgress' ELSE r.lifecycle END AS lifecycle,
    r.create_time,
    r.start_time,
    r.end_time
FROM jobs_internal.targets AS t
CROSS APPLY (
    -- Plan: the range of the target in IX_target_executions_target_id, with a lookup for one row.
    SELECT TOP (1)
        e.job_execution_id,
        j.name AS job_name,
        x.step_id,
        x.lifecycle,
        e.create_time,
        x.start_time,
        x.end_time
    FROM jobs_internal.target_executions AS x
    INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = x.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE x.target_id = t.target_id
        AND e.mode IS NULL -- a trial or a preflight leaves the database as it was
        AND j.deleted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS l WHERE l.step_execution_id = x.step_execution_id)
    ORDER BY x.execution_id DESC, x.target_execution_id DESC
) AS r;
