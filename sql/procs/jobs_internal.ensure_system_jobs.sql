-- Creates the system jobs, and restores them if they were edited. They are jobs with reserved names, and have schedules
-- and history like other jobs. Their steps are of type Upkeep: no script runs; the agent that claims the task calls the
-- procedure that the step names, over its own connection to this database.
--   jobagent$history_retention  daily at 03:00 UTC: deletes history that is older than the setting history_retention_days.
--
-- Parameters:
--   @server_name  Without effect; agents of protocol 1 send it. An empty text is refused.
-- Called by: agent/maintainer.go.
-- Locks:     the application lock jobagent.system_jobs; the job's row (U), its schedule (X) if it must be restored.
-- Returns:   0.
-- Throws:
--   50029 the server name is empty.
CREATE OR ALTER PROCEDURE jobs_internal.ensure_system_jobs
    @server_name NVARCHAR(128) = NULL,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @group_id UNIQUEIDENTIFIER = '00000000-0000-0000-0000-000000000000';
    DECLARE @group_name NVARCHAR(128) = N'(control database)';
    DECLARE @job_name NVARCHAR(128) = N'jobagent$history_retention';
    DECLARE @description NVARCHAR(512) = N'Deletes history that is older than the setting history_retention_days. Kept by the agent.';
    DECLARE @step_name NVARCHAR(128) = N'PurgeHistory';
    DECLARE @command NVARCHAR(MAX) = N'PurgeHistory';
    DECLARE @start DATETIME2(7) = DATEADD(HOUR, 3, CAST(DATEADD(DAY, 1, CAST(@now AS DATE)) AS DATETIME2(7)));
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @version INT;
    DECLARE @command_id BIGINT;
    DECLARE @lock INT;

    IF LTRIM(@server_name) = N''
        THROW 50029, N'Invalid @server_name of ensure_system_jobs: want NULL or a name that is not empty.', 1;

    BEGIN TRANSACTION;

    -- One agent at a time. No other procedure adds the reserved name, so that no lock on it is needed: it would be one on a range of
    -- names, and wait for any open transaction that adds a name next to it.
    EXECUTE @lock = sp_getapplock
        @Resource = N'jobagent.system_jobs',
        @LockMode = N'Exclusive',
        @LockOwner = N'Transaction',
        @LockTimeout = 10000,
        @DbPrincipal = N'jobs_agent';
    IF @lock < 0
    BEGIN
        COMMIT TRANSACTION;
        RETURN 0; -- the session that holds the lock does the same
    END;
    SELECT @job_id = j.job_id
    FROM jobs_internal.jobs AS j
    WHERE j.name = @job_name
        AND j.deleted_at IS NULL;
    IF @job_id IS NULL
    BEGIN
        SET @job_id = NEWID();
        SET @version = 0;
        INSERT INTO jobs_internal.jobs (job_id, name, description, is_system, created_at)
        VALUES (@job_id, @job_name, @description, 1, @now);
        INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
        VALUES (@job_id, 0, @now);
    END;
    -- current_version is in no index, so that the lock is on the clustered key.
    SELECT @version = j.current_version
    FROM jobs_internal.jobs AS j WITH (UPDLOCK)
    WHERE j.job_id = @job_id;
    UPDATE j
    SET j.description = @description,
        j.is_system = 1
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id
        AND (j.description <> @description OR j.is_system = 0);
    -- rows: one
    INSERT INTO jobs_internal.schedules (job_id, name, kind, interval_type, interval_count, start_time, updated_at)
    SELECT @job_id, N'', N'elastic', N'Days', 1, @start, @now
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.schedules AS s WHERE s.job_id = @job_id AND s.name = N'');

    IF (SELECT COUNT(*) FROM jobs_internal.job_steps AS s WHERE s.job_id = @job_id AND s.version = @version) <> 1
        OR NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_steps AS s
            INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
            WHERE s.job_id = @job_id
                AND s.version = @version
                AND s.step_name = @step_name
                AND s.target_group_id = @group_id
                AND s.credential_name IS NULL
                AND s.max_parallelism IS NULL
                AND s.output_type IS NULL
                AND s.on_unknown_outcome = N'Retry'
                AND s.at_most_once = 0
                AND c.command_type = N'Upkeep'
                AND c.command = @command
        )
    BEGIN
        INSERT INTO jobs_internal.step_commands (job_id, command_type, command_source, command)
        VALUES (@job_id, N'Upkeep', N'Inline', @command);
        SET @command_id = SCOPE_IDENTITY();
        SET @version = @version + 1;
        INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
        VALUES (@job_id, @version, @now);
        INSERT INTO jobs_internal.job_steps (
            job_id, version, step_id, step_name, command_id, target_group_id, target_group_name,
            initial_retry_interval_seconds, maximum_retry_interval_seconds, retry_interval_backoff_multiplier,
            retry_attempts, step_timeout_seconds
        )
        VALUES (@job_id, @version, 1, @step_name, @command_id, @group_id, @group_name, 60, 3600, 2.0, 5, 43200);
        UPDATE j
        SET j.current_version = @version
        FROM jobs_internal.jobs AS j
        WHERE j.job_id = @job_id;
    END;

    IF NOT EXISTS (
        SELECT 1
        FROM jobs_internal.schedules AS s
        WHERE s.job_id = @job_id
            AND s.name = N''
            AND s.kind = N'elastic'
            AND s.enabled = 1
            AND s.paused = 0
            AND s.interval_type = N'Days'
            AND s.interval_count = 1
            AND s.end_time > @now
    )
    BEGIN
        UPDATE s
        SET s.kind = N'elastic',
            s.interval_type = N'Days',
            s.interval_count = 1,
            s.start_time = @start,
            s.end_time = '9999-12-31T11:59:59',
            s.enabled = 1,
            s.paused = 0
        FROM jobs_internal.schedules AS s
        WHERE s.job_id = @job_id
            AND s.name = N'';
        SELECT @schedule_id = s.schedule_id
        FROM jobs_internal.schedules AS s
        WHERE s.job_id = @job_id
            AND s.name = N'';
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
