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
    o.step_id,
    CASE WHEN o.lifecycle = N'WaitingForCallback' THEN N'InProgress' ELSE o.lifecycle END AS lifecycle,
    r.create_time,
    o.start_time,
    o.end_time
FROM jobs_internal.targets AS t
CROSS APPLY (
    -- Plan: the range of the target in IX_target_executions_target_id, which has all columns, with the key of each run. Lists that are
    -- being written are few, and found by the step and the target.
    SELECT TOP (1)
        x.target_execution_id,
        e.job_execution_id,
        j.name AS job_name,
        e.create_time
    FROM jobs_internal.target_executions AS x
    INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = x.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE x.target_id = t.target_id
        AND e.mode IS NULL -- a trial or a preflight leaves the database as it was
        AND j.deleted_at IS NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_lists AS l
            INNER JOIN jobs_internal.target_executions AS w ON w.step_execution_id = l.step_execution_id AND w.target_id = t.target_id
            WHERE w.target_execution_id = x.target_execution_id
        )
    ORDER BY x.execution_id DESC, x.target_execution_id DESC
) AS r
-- A lookup for one row: above, SQL Server would look up all rows of the target before it sorts them.
INNER JOIN jobs_internal.target_executions AS o ON o.target_execution_id = r.target_execution_id;
