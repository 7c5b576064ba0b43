-- Steps of the current version of every job.
--
-- Columns:
--   job_name                           Name of the job.
--   job_id                             Id of the job.
--   job_version                        Version of the job.
--   step_id                            Position of the step, from 1, without gaps.
--   step_name                          Name of the step; unique within the version.
--   command_type                       TSql, or an action such as Http: see jobs.command_types; Upkeep for
--                                      steps of system jobs, which agents carry out themselves.
--   command_source                     Inline.
--   command                            The script, or the definition of an action; for Upkeep the name of the work.
--   credential_name                    Credential that runs the step; NULL: the agent's default.
--   target_group_name                  Target group on which the step runs; (control database) for Upkeep. NULL for an
--                                      action without a group: it runs once, and its target is the endpoint.
--   target_group_id                    Id of the target group; zero for Upkeep, NULL for an action without a group.
--   initial_retry_interval_seconds     Wait before the first retry.
--   maximum_retry_interval_seconds     Maximum wait between two attempts.
--   retry_interval_backoff_multiplier  Factor between two successive waits.
--   retry_attempts                     Retries after the first attempt.
--   step_timeout_seconds               Time limit of the step on one database, waits included.
--   output_type                        SqlDatabase; NULL: no output.
--   output_credential_name             Credential that writes the output.
--   output_subscription_id             Azure only; NULL unless given.
--   output_resource_group_name         Azure only; NULL unless given.
--   output_server_name                 Server of the output table.
--   output_database_name               Database of the output table.
--   output_schema_name                 Schema of the output table.
--   output_table_name                  Name of the output table.
--   max_parallelism                    Maximum number of databases of one elastic pool at once; NULL: no limit.
CREATE OR ALTER VIEW jobs.jobsteps
AS
SELECT
    j.name AS job_name,
    j.job_id,
    s.version AS job_version,
    s.step_id,
    s.step_name,
    c.command_type,
    c.command_source,
    c.command,
    s.credential_name,
    CASE WHEN e.is_endpoint = 0 THEN s.target_group_name END AS target_group_name,
    CASE WHEN e.is_endpoint = 0 THEN s.target_group_id END AS target_group_id,
    s.initial_retry_interval_seconds,
    s.maximum_retry_interval_seconds,
    s.retry_interval_backoff_multiplier,
    s.retry_attempts,
    s.step_timeout_seconds,
    s.output_type,
    s.output_credential_name,
    s.output_subscription_id,
    s.output_resource_group_name,
    s.output_server_name,
    s.output_database_name,
    CAST(s.output_schema_name AS NVARCHAR(MAX)) AS output_schema_name,
    CAST(s.output_table_name AS NVARCHAR(MAX)) AS output_table_name,
    s.max_parallelism
FROM jobs_internal.jobs AS j
INNER JOIN jobs_internal.job_steps AS s ON s.job_id = j.job_id AND s.version = j.current_version
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
CROSS APPLY (
    SELECT CASE
        WHEN s.target_group_id = '00000000-0000-0000-0000-000000000000' AND c.command_type <> N'Upkeep' THEN 1
        ELSE 0
    END AS is_endpoint
) AS e
WHERE j.deleted_at IS NULL;
