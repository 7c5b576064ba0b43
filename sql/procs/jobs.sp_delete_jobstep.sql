-- Deletes a step, which makes a new version of the job; later steps move down. Runs that are active keep their version.
--
-- Parameters:
--   @job_name     Which job.
--   @step_id      Position of the step. It or @step_name is needed.
--   @step_name    Name of the step.
--   @job_version  Receives the job's new version.
-- Called by: anybody with the role jobs_author.
-- Locks:     the job's row (U); then inserts into job_versions, job_steps.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50021 neither step id nor step name is given.
--   50030 step id and step name name different steps.
--   50100 the job does not exist.
--   50104 the job step does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_delete_jobstep
    @job_name    NVARCHAR(128),
    @step_id     INT = NULL,
    @step_name   NVARCHAR(128) = NULL,
    @job_version INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @found INT;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    EXECUTE jobs_internal.find_step
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @version,
        @step_id = @step_id,
        @step_name = @step_name,
        @allow_only_step = 0,
        @found = @found OUTPUT;

    SET @job_version = @version + 1;
    INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
    VALUES (@job_id, @job_version, @now);
    INSERT INTO jobs_internal.job_steps (
        job_id, version, step_id, step_name, command_id, credential_name, target_group_id, target_group_name,
        initial_retry_interval_seconds, maximum_retry_interval_seconds, retry_interval_backoff_multiplier,
        retry_attempts, step_timeout_seconds, output_type, output_credential_name, output_subscription_id,
        output_resource_group_name, output_server_name, output_database_name, output_schema_name,
        output_table_name, max_parallelism, on_unknown_outcome, at_most_once
    )
    SELECT
        s.job_id, @job_version, CASE WHEN s.step_id > @found THEN s.step_id - 1 ELSE s.step_id END,
        s.step_name, s.command_id, s.credential_name, s.target_group_id, s.target_group_name,
        s.initial_retry_interval_seconds, s.maximum_retry_interval_seconds, s.retry_interval_backoff_multiplier,
        s.retry_attempts, s.step_timeout_seconds, s.output_type, s.output_credential_name, s.output_subscription_id,
        s.output_resource_group_name, s.output_server_name, s.output_database_name, s.output_schema_name,
        s.output_table_name, s.max_parallelism, s.on_unknown_outcome, s.at_most_once
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.step_id <> @found;
    UPDATE j
    SET j.current_version = @job_version
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;

    COMMIT TRANSACTION;
    RETURN 0;
END;
