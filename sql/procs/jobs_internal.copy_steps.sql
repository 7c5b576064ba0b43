-- Creates the next version of a job with a copy of each step of the previous version, and of its plan. In the same transaction, the
-- caller adds or changes a step of the new version, or the plan, so that a version never changes once it is visible (I3).
--
-- This is the only procedure that copies steps: a new column of job_steps must be added here. Dependencies follow the
-- steps that they name; those on a step that is deleted are not copied.
--
-- Parameters:
--   @job_id       The job; the caller has locked it.
--   @version      Its current version.
--   @from         Position of a step that moves or is deleted; NULL: none. Later steps move down.
--   @to           New position of that step, or a position to leave free if @from is NULL; NULL: none. Steps from there
--                 on move up.
--   @job_version  Receives the new version.
-- Called by: jobs_internal.store_step, jobs.sp_delete_jobstep, jobs.sp_set_job_rollout, within their transactions.
-- Locks:     inserts into job_versions, job_steps and job_step_dependencies; the job's row (X).
-- Returns:   0.
-- Throws:    nothing; in a distributed transaction of the caller error 627, because savepoints are not possible there.
CREATE OR ALTER PROCEDURE jobs_internal.copy_steps
    @job_id      UNIQUEIDENTIFIER,
    @version     INT,
    @from        INT = NULL,
    @to          INT = NULL,
    @job_version INT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @positions TABLE (step_id INT NOT NULL PRIMARY KEY, new_step_id INT NOT NULL);

    -- finish_version goes back to here if the new version does not differ.
    -- save: to delete the new version instead, SQL Server would look for runs of it among all runs of the job (foreign key)
    SAVE TRANSACTION new_version;
    SET @job_version = @version + 1;
    INSERT INTO jobs_internal.job_versions (job_id, version, created_at, rollout_plan)
    SELECT @job_id, @job_version, @now, v.rollout_plan
    FROM jobs_internal.job_versions AS v
    WHERE v.job_id = @job_id
        AND v.version = @version;

    -- Plan: a range of PK_job_steps here and below, as many rows as the job has steps.
    WITH others AS (
        SELECT s.step_id, CASE WHEN s.step_id > @from THEN s.step_id - 1 ELSE s.step_id END AS place
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_id <> COALESCE(@from, 0)
    )
    INSERT INTO @positions (step_id, new_step_id)
    SELECT o.step_id, CASE WHEN o.place >= @to THEN o.place + 1 ELSE o.place END
    FROM others AS o
    UNION ALL
    SELECT @from, @to
    WHERE @from IS NOT NULL
        AND @to IS NOT NULL;
    INSERT INTO jobs_internal.job_steps (
        job_id, version, step_id, step_name, command_id, credential_name, target_group_id, target_group_name,
        initial_retry_interval_seconds, maximum_retry_interval_seconds, retry_interval_backoff_multiplier,
        retry_attempts, step_timeout_seconds, output_type, output_credential_name, output_subscription_id,
        output_resource_group_name, output_server_name, output_database_name, output_schema_name,
        output_table_name, max_parallelism, on_unknown_outcome, at_most_once, has_after, run_when, on_targets, revision,
        retry_errors, tolerated_failures, agent_options
    )
    SELECT
        s.job_id, @job_version, p.new_step_id, s.step_name, s.command_id, s.credential_name, s.target_group_id, s.target_group_name,
        s.initial_retry_interval_seconds, s.maximum_retry_interval_seconds, s.retry_interval_backoff_multiplier,
        s.retry_attempts, s.step_timeout_seconds, s.output_type, s.output_credential_name, s.output_subscription_id,
        s.output_resource_group_name, s.output_server_name, s.output_database_name, s.output_schema_name,
        s.output_table_name, s.max_parallelism, s.on_unknown_outcome, s.at_most_once, s.has_after, s.run_when, s.on_targets, s.revision,
        s.retry_errors, s.tolerated_failures, s.agent_options
    FROM @positions AS p
    INNER JOIN jobs_internal.job_steps AS s ON s.job_id = @job_id AND s.version = @version AND s.step_id = p.step_id;
    -- plan: as many positions as the job has steps
    INSERT INTO jobs_internal.job_step_dependencies (job_id, version, step_id, after_step_id)
    SELECT d.job_id, @job_version, p.new_step_id, a.new_step_id
    FROM jobs_internal.job_step_dependencies AS d
    INNER JOIN @positions AS p ON p.step_id = d.step_id
    INNER JOIN @positions AS a ON a.step_id = d.after_step_id
    WHERE d.job_id = @job_id
        AND d.version = @version;

    UPDATE j
    SET j.current_version = @job_version
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    RETURN 0;
END;
