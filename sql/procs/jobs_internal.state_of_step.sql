-- Returns the state of a step for the audit log: its definition, without secrets and without what passes and agents change. A
-- new column of the definition must be added here. Options that only agents read are members of the state if they have not
-- their default.
--
-- Parameters:
--   @job_id    The job.
--   @version   The version of the job.
--   @step_id   The step.
--   @state     Receives a JSON object; NULL: there is no such object.
--   @revision  Receives the revision of the job.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_step
    @job_id   UNIQUEIDENTIFIER,
    @version  INT,
    @step_id  INT,
    @state    NVARCHAR(MAX) OUTPUT,
    @revision BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @options NVARCHAR(4000);

    SELECT @revision = j.revision
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    SET @state = (
        SELECT
            s.step_name AS name,
            s.step_id,
            c.command_type,
            LEN(c.command) AS command_characters,
            CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', c.command), 2) AS command_sha256,
            s.credential_name,
            s.target_group_name,
            s.initial_retry_interval_seconds,
            s.maximum_retry_interval_seconds,
            -- TRY_CAST: it may be any REAL.
            TRY_CAST(s.retry_interval_backoff_multiplier AS DECIMAL(19, 6)) AS retry_interval_backoff_multiplier,
            s.retry_attempts,
            s.step_timeout_seconds,
            s.output_type,
            s.output_credential_name,
            s.output_subscription_id,
            s.output_resource_group_name,
            s.output_server_name,
            s.output_database_name,
            s.output_schema_name,
            s.output_table_name,
            s.max_parallelism,
            s.on_unknown_outcome,
            s.at_most_once,
            JSON_QUERY(CASE WHEN s.has_after = 1 THEN CONCAT(N'[', (
                SELECT STRING_AGG(CAST(d.after_step_id AS NVARCHAR(MAX)), N',') WITHIN GROUP (ORDER BY d.after_step_id)
                FROM jobs_internal.job_step_dependencies AS d
                WHERE d.job_id = s.job_id
                    AND d.version = s.version
                    AND d.step_id = s.step_id
            ), N']') END) AS after,
            s.run_when,
            s.on_targets,
            s.retry_errors,
            s.tolerated_failures
        FROM jobs_internal.job_steps AS s
        INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_id = @step_id
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    SELECT @options = s.agent_options
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.step_id = @step_id;
    IF @options IS NOT NULL
        SET @state = CONCAT(LEFT(@state, LEN(@state) - 1), N',', STUFF(@options, 1, 1, N''));
    RETURN 0;
END;
