-- Steps of every version of every job.
--
-- Columns: those of jobs.jobsteps.
CREATE OR ALTER VIEW jobs.jobstep_versions
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
INNER JOIN jobs_internal.job_steps AS s ON s.job_id = j.job_id
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
CROSS APPLY (
    SELECT CASE
        WHEN s.target_group_id = '00000000-0000-0000-0000-000000000000' AND c.command_type <> N'Upkeep' THEN 1
        ELSE 0
    END AS is_endpoint
) AS e
WHERE j.deleted_at IS NULL;
