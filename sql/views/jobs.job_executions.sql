-- Runs of jobs, their steps, and each step on each target. All rows of a run have the run's job_execution_id. A row
-- with step_id NULL stands for the whole run, one with target_type TargetGroup for a step, one with target_type
-- SqlDatabase for a step on a database, and one with target_type Endpoint for an action without a target group.
--
-- Columns:
--   job_execution_id            Id of the run.
--   job_name                    Name of the job.
--   job_id                      Id of the job.
--   job_version                 Version that the run uses.
--   step_id                     Number of the step; NULL in the row of the run.
--   is_active                   1: not final.
--   lifecycle                   Created, InProgress, WaitingForChildJobExecutions, WaitingForRetry, Succeeded,
--                               SucceededWithSkipped, Failed, TimedOut, Canceled or Skipped. An action that waits for a callback is
--                               InProgress; the view jobs.callbacks shows the wait.
--   create_time                 When the row was created (UTC, as all times).
--   start_time                  When it started; NULL before.
--   end_time                    When it finished; NULL before.
--   current_attempts            Number of attempts that have begun; 0 in the row of the run.
--   current_attempt_start_time  When the latest attempt began; NULL in the row of the run.
--   next_attempt_start_time     When the next retry is due; NULL unless the lifecycle is WaitingForRetry.
--   last_message                Message or error of the latest event.
--   target_type                 TargetGroup, SqlDatabase or Endpoint; NULL in the row of the run.
--   target_id                   Id of the target group, the database or the endpoint; NULL in the row of the run, and in that of a step
--                               without a group.
--   target_group_name           Name of the target group; NULL in the row of the run, and for actions without a group.
--   target_server_name          Server, or host of the endpoint; only for SqlDatabase and Endpoint.
--   target_database_name        Database; only for SqlDatabase.
--   step_name                   Name of the step; NULL in the row of the run. Azure's view has this column and those after it, although
--                               no page lists them, and scripts read them.
--   target_subscription_id      Azure only; NULL.
--   target_resource_group_name  Azure only; NULL.
--   target_elastic_pool_name    Elastic pool of the database when the step's list was made; NULL: none.
CREATE OR ALTER VIEW jobs.job_executions
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    CAST(NULL AS INT) AS step_id,
    e.is_active,
    e.lifecycle,
    e.create_time,
    e.start_time,
    e.end_time,
    CAST(0 AS INT) AS current_attempts,
    CAST(NULL AS DATETIME2(7)) AS current_attempt_start_time,
    CAST(NULL AS DATETIME2(7)) AS next_attempt_start_time,
    e.last_message,
    CAST(NULL AS NVARCHAR(128)) AS target_type,
    CAST(NULL AS UNIQUEIDENTIFIER) AS target_id,
    CAST(NULL AS NVARCHAR(128)) AS target_group_name,
    CAST(NULL AS NVARCHAR(256)) AS target_server_name,
    CAST(NULL AS NVARCHAR(128)) AS target_database_name,
    CAST(NULL AS NVARCHAR(128)) AS step_name,
    CAST(NULL AS UNIQUEIDENTIFIER) AS target_subscription_id,
    CAST(NULL AS NVARCHAR(128)) AS target_resource_group_name,
    CAST(NULL AS NVARCHAR(128)) AS target_elastic_pool_name
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE j.deleted_at IS NULL
UNION ALL
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    s.step_id,
    s.is_active,
    s.lifecycle,
    s.create_time,
    s.start_time,
    s.end_time,
    s.attempts AS current_attempts,
    s.attempt_start_time AS current_attempt_start_time,
    CASE WHEN s.lifecycle = N'WaitingForRetry' THEN s.next_attempt_at END AS next_attempt_start_time,
    s.last_message,
    CAST(N'TargetGroup' AS NVARCHAR(128)) AS target_type,
    CASE WHEN x.is_endpoint = 0 THEN d.target_group_id END AS target_id,
    CASE WHEN x.is_endpoint = 0 THEN d.target_group_name END AS target_group_name,
    CAST(NULL AS NVARCHAR(256)) AS target_server_name,
    CAST(NULL AS NVARCHAR(128)) AS target_database_name,
    d.step_name,
    CAST(NULL AS UNIQUEIDENTIFIER) AS target_subscription_id,
    CAST(NULL AS NVARCHAR(128)) AS target_resource_group_name,
    CAST(NULL AS NVARCHAR(128)) AS target_elastic_pool_name
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = s.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id AND j.job_id = s.job_id -- both: a job's active rows have an index
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
CROSS APPLY (
    SELECT CASE
        WHEN d.target_group_id = '00000000-0000-0000-0000-000000000000' AND d.target_group_name = N'(endpoint)' THEN 1
        ELSE 0
    END AS is_endpoint
) AS x
WHERE j.deleted_at IS NULL
UNION ALL
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    t.step_id,
    t.is_active,
    CASE WHEN t.lifecycle = N'WaitingForCallback' THEN N'InProgress' ELSE t.lifecycle END AS lifecycle,
    t.create_time,
    t.start_time,
    t.end_time,
    t.attempts AS current_attempts,
    t.attempt_start_time AS current_attempt_start_time,
    CASE WHEN t.lifecycle = N'WaitingForRetry' AND t.next_attempt_at < '9999-12-31' THEN t.next_attempt_at END AS next_attempt_start_time,
    COALESCE(t.last_message, CONCAT(
        N'Step ', t.step_id,
        CASE t.lifecycle
            WHEN N'Succeeded' THEN N' succeeded execution on '
            WHEN N'InProgress' THEN N' runs on '
            WHEN N'WaitingForCallback' THEN N' waits for a callback from '
            ELSE N' waits for execution on '
        END,
        CASE
            WHEN t.is_endpoint = 1 THEN CONCAT(N'endpoint ''', t.server_name, N'''.')
            ELSE CONCAT(N'target (server ''', t.server_name, N''', database ''', t.database_name, N''').')
        END
    )) AS last_message,
    CAST(CASE WHEN t.is_endpoint = 1 THEN N'Endpoint' ELSE N'SqlDatabase' END AS NVARCHAR(128)) AS target_type,
    t.target_id,
    CASE WHEN t.is_endpoint = 0 THEN d.target_group_name END AS target_group_name,
    t.server_name AS target_server_name,
    CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS target_database_name,
    d.step_name,
    CAST(NULL AS UNIQUEIDENTIFIER) AS target_subscription_id,
    CAST(NULL AS NVARCHAR(128)) AS target_resource_group_name,
    t.elastic_pool_name AS target_elastic_pool_name
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = t.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id AND j.job_id = t.job_id -- see above
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version AND d.step_id = t.step_id
WHERE j.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_lists AS w WHERE w.step_execution_id = t.step_execution_id);
