-- Sets options of a step that Azure does not have, which makes a new version of the job. What is omitted or NULL stays as
-- it is. Runs that are active keep their version. A new step has Retry and 0; sp_update_jobstep keeps what is set here.
--
-- Parameters:
--   @job_name            Which job.
--   @step_id             Position of the step. It or @step_name is needed, unless the job has one step.
--   @step_name           Name of the step.
--   @on_unknown_outcome  What follows an attempt of which nobody can say what became of it (the agent died, the connection
--                        was lost after the script was sent): Retry, by the step's retry policy, or Fail.
--   @at_most_once        1: the script runs in one transaction with a row in the target's table jobagent.executed_scripts,
--                        so that no attempt runs it again once it has committed. targets/DESIGN.md says what that asks of
--                        scripts and permissions.
--   @job_version         Receives the job's new version.
-- Called by: anybody with the role jobs_author.
-- Locks:     the job's row (U); then inserts into job_versions, job_steps.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50021 neither step id nor step name is given.
--   50030 step id and step name name different steps.
--   50032 @on_unknown_outcome is neither Retry nor Fail.
--   50033 no option is given.
--   50100 the job does not exist.
--   50104 the job step does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_set_jobstep_options
    @job_name           NVARCHAR(128),
    @step_id            INT = NULL,
    @step_name          NVARCHAR(128) = NULL,
    @on_unknown_outcome NVARCHAR(10) = NULL,
    @at_most_once       BIT = NULL,
    @job_version        INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @found INT;

    IF @on_unknown_outcome IS NULL AND @at_most_once IS NULL
        THROW 50033, N'No option is given: @on_unknown_outcome or @at_most_once is needed.', 1;
    IF @on_unknown_outcome COLLATE Latin1_General_100_CI_AS NOT IN (N'retry', N'fail')
    BEGIN
        SET @message = REPLACE(CONCAT(N'@on_unknown_outcome is ''', @on_unknown_outcome, N''': Retry or Fail is needed.'), N'%', N'%%');
        THROW 50032, @message, 1;
    END;
    SET @on_unknown_outcome = CASE @on_unknown_outcome COLLATE Latin1_General_100_CI_AS WHEN N'retry' THEN N'Retry' WHEN N'fail' THEN N'Fail' END;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    EXECUTE jobs_internal.find_step
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @version,
        @step_id = @step_id,
        @step_name = @step_name,
        @allow_only_step = 1,
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
        s.job_id, @job_version, s.step_id,
        s.step_name, s.command_id, s.credential_name, s.target_group_id, s.target_group_name,
        s.initial_retry_interval_seconds, s.maximum_retry_interval_seconds, s.retry_interval_backoff_multiplier,
        s.retry_attempts, s.step_timeout_seconds, s.output_type, s.output_credential_name, s.output_subscription_id,
        s.output_resource_group_name, s.output_server_name, s.output_database_name, s.output_schema_name,
        s.output_table_name, s.max_parallelism,
        CASE WHEN s.step_id = @found THEN COALESCE(@on_unknown_outcome, s.on_unknown_outcome) ELSE s.on_unknown_outcome END,
        CASE WHEN s.step_id = @found THEN COALESCE(@at_most_once, s.at_most_once) ELSE s.at_most_once END
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version;
    UPDATE j
    SET j.current_version = @job_version
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;

    COMMIT TRANSACTION;
    RETURN 0;
END;
