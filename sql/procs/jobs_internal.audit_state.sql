-- Returns the state of an object for the audit log: its definition, without secrets, without commands and parameters (but their hashes),
-- and without what passes and agents change. A new column of a definition must be added here.
--
-- Parameters:
--   @kind       Job, JobStep, Schedule, Calendar, TargetGroup, TargetGroupMember or Secret.
--   @job_id     The job of a Job or JobStep.
--   @version    The version of the job of a JobStep.
--   @number     The id of a JobStep or a Schedule.
--   @target_id  The id of a TargetGroup or TargetGroupMember.
--   @name       The name of a Calendar or Secret.
--   @state      Receives a JSON object; NULL: the object does not exist.
-- Called by: the public procedures that change something, within their transactions, after they have locked the object.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.audit_state
    @kind      NVARCHAR(30),
    @job_id    UNIQUEIDENTIFIER = NULL,
    @version   INT = NULL,
    @number    BIGINT = NULL,
    @target_id UNIQUEIDENTIFIER = NULL,
    @name      NVARCHAR(128) = NULL,
    @state     NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = NULL;
    IF @kind = N'Job'
        SET @state = (
            SELECT
                j.name,
                NULLIF(j.description, N'') AS description,
                s.enabled,
                s.interval_type AS schedule_interval_type,
                s.interval_count AS schedule_interval_count,
                s.start_time AS schedule_start_time,
                s.end_time AS schedule_end_time
            FROM jobs_internal.jobs AS j
            LEFT JOIN jobs_internal.schedules AS s ON s.job_id = j.job_id AND s.name = N''
            WHERE j.job_id = @job_id
                AND j.deleted_at IS NULL
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    ELSE IF @kind = N'JobStep'
        SET @state = (
            SELECT
                s.step_id,
                s.step_name,
                c.command_type,
                LEN(c.command) AS command_characters,
                CONVERT(NVARCHAR(64), HASHBYTES('SHA2_256', c.command), 2) AS command_sha256,
                s.credential_name,
                s.target_group_name,
                s.initial_retry_interval_seconds,
                s.maximum_retry_interval_seconds,
                CAST(s.retry_interval_backoff_multiplier AS DECIMAL(19, 6)) AS retry_interval_backoff_multiplier,
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
                s.bind_parameters,
                CASE WHEN s.has_after = 1 THEN JSON_QUERY(CONCAT(N'[', (
                    SELECT STRING_AGG(CAST(d.after_step_id AS NVARCHAR(MAX)), N',') WITHIN GROUP (ORDER BY d.after_step_id)
                    FROM jobs_internal.job_step_dependencies AS d
                    WHERE d.job_id = s.job_id
                        AND d.version = s.version
                        AND d.step_id = s.step_id
                ), N']')) END AS after,
                s.run_when,
                s.on_targets
            FROM jobs_internal.job_steps AS s
            INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
            WHERE s.job_id = @job_id
                AND s.version = @version
                AND s.step_id = @number
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    ELSE IF @kind = N'Schedule'
        SET @state = (
            SELECT
                s.name,
                s.kind,
                s.spec,
                s.interval_type,
                s.interval_count,
                s.start_time,
                s.end_time,
                s.time_zone,
                s.catch_up,
                s.overlap,
                s.pause_on_failure,
                s.enabled,
                s.paused,
                s.pause_note,
                CONVERT(NVARCHAR(64), p.hash, 2) AS parameters_sha256
            FROM jobs_internal.schedules AS s
            LEFT JOIN jobs_internal.payloads AS p ON p.payload_id = s.payload_id
            WHERE s.schedule_id = @number
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    ELSE IF @kind = N'Calendar'
        SET @state = (
            SELECT c.spec
            FROM jobs_internal.calendars AS c
            WHERE c.name = @name
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    ELSE IF @kind = N'TargetGroup'
        SET @state = (
            SELECT
                g.name,
                JSON_QUERY((
                    SELECT
                        m.membership_type, m.target_type, m.refresh_credential_name, m.server_name, m.database_name, m.elastic_pool_name,
                        m.shard_map_name
                    FROM jobs_internal.target_group_members AS m
                    WHERE m.target_group_id = g.target_group_id
                    ORDER BY m.member_id
                    FOR JSON PATH
                )) AS members
            FROM jobs_internal.target_groups AS g
            WHERE g.target_group_id = @target_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    ELSE IF @kind = N'TargetGroupMember'
        SET @state = (
            SELECT
                m.membership_type, m.target_type, m.refresh_credential_name, m.server_name, m.database_name, m.elastic_pool_name,
                m.shard_map_name
            FROM jobs_internal.target_group_members AS m
            WHERE m.target_id = @target_id
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    ELSE IF @kind = N'Secret'
        SET @state = (
            SELECT
                s.version,
                JSON_QUERY(s.hosts) AS hosts,
                (SELECT COUNT(*) FROM jobs_internal.secret_data_keys AS d WHERE d.secret_id = s.secret_id) AS keys
            FROM jobs_internal.secrets AS s
            WHERE s.owner = N''
                AND s.name = @name
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    RETURN 0;
END;
