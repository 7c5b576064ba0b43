-- Adds a step to a job, or changes one: the writer behind the public procedures of steps. A setting has its length, default, checks and
-- column here, once. A change makes a new version of the job; one that changes nothing does not.
--
-- What a mode does with a step, and with parameters that are NULL:
--   Add      the step is new; they get their defaults
--   Update   the step exists; they stay. An empty text, zero or -1 removes what may be absent
--   Set      the step is new or exists; they get their defaults. What Azure's REST API does not have stays
--   Options  the step exists; they stay. Only what Azure does not have may be given
--
-- Parameters: those of the callers, and
--   @mode      Add, Update, Set or Options.
--   @if_match  The step's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @created   Receives 1 if the step is new.
--   @revision  Receives the step's revision.
-- Called by: jobs.sp_add_jobstep, jobs.sp_update_jobstep, jobs.sp_set_jobstep, jobs.sp_set_jobstep_options. It has the transaction.
-- Locks:     the job's row (U), the target group's row (U); then inserts into job_versions, step_commands, job_steps and
--            job_step_dependencies; the new version's step (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_step
    @mode                              NVARCHAR(10),
    @job_name                          NVARCHAR(129),
    @step_id                           INT = NULL OUTPUT,
    @step_name                         NVARCHAR(129) = NULL,
    @new_id                            INT = NULL,
    @new_name                          NVARCHAR(129) = NULL,
    @command_type                      NVARCHAR(51) = NULL,
    @command_source                    NVARCHAR(51) = NULL,
    @command                           NVARCHAR(MAX) = NULL,
    @credential_name                   NVARCHAR(129) = NULL,
    @target_group_name                 NVARCHAR(129) = NULL,
    @initial_retry_interval_seconds    INT = NULL,
    @maximum_retry_interval_seconds    INT = NULL,
    @retry_interval_backoff_multiplier REAL = NULL,
    @retry_attempts                    INT = NULL,
    @step_timeout_seconds              INT = NULL,
    @output_type                       NVARCHAR(51) = NULL,
    @output_credential_name            NVARCHAR(129) = NULL,
    @output_subscription_id            UNIQUEIDENTIFIER = NULL,
    @output_resource_group_name        NVARCHAR(129) = NULL,
    @output_server_name                NVARCHAR(257) = NULL,
    @output_database_name              NVARCHAR(129) = NULL,
    @output_schema_name                NVARCHAR(129) = NULL,
    @output_table_name                 NVARCHAR(129) = NULL,
    @max_parallelism                   INT = NULL,
    @after                             NVARCHAR(MAX) = NULL,
    @run_when                          NVARCHAR(51) = NULL,
    @on_targets                        NVARCHAR(51) = NULL,
    @retry_errors                      NVARCHAR(51) = NULL,
    @tolerated_failures                NVARCHAR(11) = NULL,
    @on_unknown_outcome                NVARCHAR(11) = NULL,
    @at_most_once                      BIT = NULL,
    @bind_parameters                   BIT = NULL,
    @if_match                          BIGINT = NULL,
    @job_version                       INT = NULL OUTPUT,
    @created                           BIT = NULL OUTPUT,
    @revision                          BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @names NVARCHAR(MAX);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The step ''', @step_name, N''' of the job ''', @job_name, N'''');
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @steps INT;
    DECLARE @found INT; -- position of an existing step
    DECLARE @kept INT;  -- the same, if omitted settings stay
    DECLARE @place INT; -- its position in the new version
    DECLARE @name NVARCHAR(129);
    DECLARE @parameter NVARCHAR(128);
    DECLARE @command_id BIGINT;
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @former_type NVARCHAR(50), @former_group_id UNIQUEIDENTIFIER, @former_group NVARCHAR(128), @former_multiplier REAL;
    DECLARE @former_revision BIGINT;
    DECLARE @changed INT;
    DECLARE @agent_options NVARCHAR(4000);
    DECLARE @awaits BIT = CASE WHEN @on_unknown_outcome IS NOT NULL THEN 1 ELSE 0 END;
    DECLARE @schedule_id BIGINT;
    DECLARE @action NVARCHAR(128);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    SELECT TOP (1) @message = REPLACE(CONCAT(
        N'Invalid ', v.parameter, N': want at most ', v.most, N' characters, not ', v.most + 1, N' or more.'
    ), N'%', N'%%')
    FROM (VALUES
        (1, N'@job_name', DATALENGTH(@job_name), 128),
        (2, N'@step_name', DATALENGTH(@step_name), 128),
        (3, N'@new_name', DATALENGTH(@new_name), 128),
        (4, N'@command_type', DATALENGTH(@command_type), 50),
        (5, N'@command_source', DATALENGTH(@command_source), 50),
        (6, N'@credential_name', DATALENGTH(@credential_name), 128),
        (7, N'@target_group_name', DATALENGTH(@target_group_name), 128),
        (8, N'@output_type', DATALENGTH(@output_type), 50),
        (9, N'@output_credential_name', DATALENGTH(@output_credential_name), 128),
        (10, N'@output_resource_group_name', DATALENGTH(@output_resource_group_name), 128),
        (11, N'@output_server_name', DATALENGTH(@output_server_name), 256),
        (12, N'@output_database_name', DATALENGTH(@output_database_name), 128),
        (13, N'@output_schema_name', DATALENGTH(@output_schema_name), 128),
        (14, N'@output_table_name', DATALENGTH(@output_table_name), 128),
        (15, N'@on_unknown_outcome', DATALENGTH(@on_unknown_outcome), 10),
        (16, N'@run_when', DATALENGTH(@run_when), 50),
        (17, N'@on_targets', DATALENGTH(@on_targets), 50),
        (18, N'@retry_errors', DATALENGTH(@retry_errors), 50),
        (19, N'@tolerated_failures', DATALENGTH(@tolerated_failures), 10)
    ) AS v (place, parameter, bytes, most)
    WHERE v.bytes > 2 * v.most
    ORDER BY v.place;
    IF @message IS NOT NULL
        THROW 50097, @message, 1;

    IF @mode = N'Options'
        AND COALESCE(@on_unknown_outcome, @after, @run_when, @on_targets, @retry_errors, @tolerated_failures) IS NULL
        AND @at_most_once IS NULL
        AND @bind_parameters IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Missing option: want @on_unknown_outcome, @at_most_once, @bind_parameters, @after, @run_when, @on_targets, @retry_errors ',
            N'or @tolerated_failures.'
        ), N'%', N'%%');
        THROW 50033, @message, 1;
    END;
    IF @mode IN (N'Add', N'Set') AND LTRIM(@target_group_name) = N''
        THROW 50098, N'Invalid @target_group_name: the name is empty. Omit it if the action shall run once, without a target group.', 1;
    IF @mode = N'Add' AND LTRIM(@credential_name) = N''
        THROW 50098, N'Invalid @credential_name: the name is empty. Omit it to use the default credential of the agent.', 1;
    IF @mode = N'Add' AND LTRIM(@output_credential_name) = N''
        THROW 50098, N'Invalid @output_credential_name: the name is empty. Omit it to use the default credential of the agent.', 1;
    IF @mode = N'Set' AND COALESCE(LTRIM(@step_name), N'') = N''
        THROW 50010, N'Missing step name: @step_name is NULL or empty.', 1;
    IF @mode = N'Update' AND LTRIM(@new_name) = N''
        THROW 50010, N'Missing step name: @new_name is empty.', 1;
    -- Blanks, tabs and line breaks alone are no command.
    DECLARE @has_command BIT = CASE WHEN @command LIKE N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%' THEN 1 ELSE 0 END;
    IF @mode IN (N'Add', N'Set') AND @has_command = 0
        THROW 50009, N'Missing command: @command is NULL or empty.', 1;
    IF @mode = N'Update' AND @command IS NOT NULL AND @has_command = 0
        THROW 50009, N'Missing command: @command is empty.', 1;
    IF @mode <> N'Options'
        AND COALESCE(@output_server_name, @output_database_name, @output_schema_name, @output_table_name) IS NOT NULL
    BEGIN
        SET @names = (
            SELECT v.parameter, v.name, v.is_server
            FROM (VALUES
                (N'@output_server_name', @output_server_name, CAST(1 AS BIT)),
                (N'@output_database_name', @output_database_name, CAST(0 AS BIT)),
                (N'@output_schema_name', @output_schema_name, CAST(0 AS BIT)),
                (N'@output_table_name', @output_table_name, CAST(0 AS BIT))
            ) AS v (parameter, name, is_server)
            FOR JSON PATH
        );
        EXECUTE jobs_internal.check_external_names @names = @names;
    END;
    IF @on_unknown_outcome COLLATE Latin1_General_100_CI_AS NOT IN (N'retry', N'fail', N'await')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @on_unknown_outcome ''', @on_unknown_outcome, N''': want Retry, Fail or Await.'
        ), N'%', N'%%');
        THROW 50032, @message, 1;
    END;
    IF @retry_errors COLLATE Latin1_General_100_CI_AS NOT IN (N'all', N'transient')
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @retry_errors ''', @retry_errors, N''': want All or Transient.'), N'%', N'%%');
        THROW 50068, @message, 1;
    END;
    EXECUTE jobs_internal.check_tolerated_failures @tolerated_failures = @tolerated_failures OUTPUT;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_steps @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    IF @mode = N'Set'
    BEGIN
        SELECT
            @found = s.step_id,
            @former_revision = s.revision
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_name = @step_name;
        EXECUTE jobs_internal.check_revision @object = @object, @revision = @former_revision, @if_match = @if_match;
    END
    ELSE IF @mode <> N'Add'
        EXECUTE jobs_internal.find_step
            @job_name = @job_name,
            @job_id = @job_id,
            @version = @version,
            @step_id = @step_id,
            @step_name = @step_name,
            @allow_only_step = 1,
            @if_match = @if_match,
            @found = @found OUTPUT;
    SET @created = CASE WHEN @found IS NULL THEN 1 ELSE 0 END;
    SET @kept = CASE WHEN @mode IN (N'Update', N'Options') THEN @found END;
    IF @created = 0
        EXECUTE jobs_internal.state_of_step
            @job_id = @job_id,
            @version = @version,
            @step_id = @found,
            @state = @audit_before OUTPUT,
            @revision = @revision_before OUTPUT;
    SELECT @steps = COUNT(*)
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version;

    -- s is the existing step, and k is the same one if omitted settings stay. What Azure's REST API does not have is always kept.
    SELECT
        @name = CASE
            WHEN @created = 0 THEN COALESCE(@new_name, s.step_name)
            WHEN @step_name IS NULL AND @steps = 0 THEN N'JobStep'
            ELSE @step_name
        END,
        @command_id = s.command_id,
        @former_type = c.command_type,
        @command_type = COALESCE(@command_type, CASE WHEN @kept IS NOT NULL THEN c.command_type END, N'TSql'),
        @command_source = COALESCE(@command_source, N'Inline'),
        @credential_name = NULLIF(COALESCE(@credential_name, k.credential_name), N''),
        @target_group_id = k.target_group_id,
        @former_group_id = s.target_group_id,
        @former_group = k.target_group_name,
        @initial_retry_interval_seconds = COALESCE(@initial_retry_interval_seconds, k.initial_retry_interval_seconds, 1),
        @maximum_retry_interval_seconds = COALESCE(@maximum_retry_interval_seconds, k.maximum_retry_interval_seconds, 120),
        @retry_interval_backoff_multiplier = COALESCE(@retry_interval_backoff_multiplier, k.retry_interval_backoff_multiplier, 2),
        @former_multiplier = s.retry_interval_backoff_multiplier,
        @retry_attempts = COALESCE(@retry_attempts, k.retry_attempts, 10),
        @step_timeout_seconds = COALESCE(@step_timeout_seconds, k.step_timeout_seconds, 43200),
        @output_type = NULLIF(COALESCE(@output_type, k.output_type), N''),
        @output_credential_name = NULLIF(COALESCE(@output_credential_name, k.output_credential_name), N''),
        @output_subscription_id = NULLIF(
            COALESCE(@output_subscription_id, k.output_subscription_id), '00000000-0000-0000-0000-000000000000'
        ),
        @output_resource_group_name = NULLIF(COALESCE(@output_resource_group_name, k.output_resource_group_name), N''),
        @output_server_name = NULLIF(COALESCE(@output_server_name, k.output_server_name), N''),
        @output_database_name = NULLIF(COALESCE(@output_database_name, k.output_database_name), N''),
        @output_schema_name = NULLIF(COALESCE(@output_schema_name, k.output_schema_name), N''),
        @output_table_name = NULLIF(COALESCE(@output_table_name, k.output_table_name), N''),
        @max_parallelism = NULLIF(COALESCE(@max_parallelism, s.max_parallelism), CASE WHEN @created = 0 THEN -1 END),
        @on_unknown_outcome = COALESCE(CASE @on_unknown_outcome COLLATE Latin1_General_100_CI_AS
            WHEN N'retry' THEN N'Retry'
            WHEN N'fail' THEN N'Fail'
            WHEN N'await' THEN N'Await'
        END, s.on_unknown_outcome, N'Retry'),
        @at_most_once = COALESCE(@at_most_once, s.at_most_once, 0),
        @retry_errors = COALESCE(CASE @retry_errors COLLATE Latin1_General_100_CI_AS
            WHEN N'all' THEN N'All'
            WHEN N'transient' THEN N'Transient'
        END, s.retry_errors, N'All'),
        @tolerated_failures = COALESCE(@tolerated_failures, s.tolerated_failures, N'0'),
        @agent_options = s.agent_options,
        @former_revision = s.revision
    FROM (VALUES (1)) AS o (n)
    LEFT JOIN jobs_internal.job_steps AS s ON s.job_id = @job_id AND s.version = @version AND s.step_id = @found
    LEFT JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
    LEFT JOIN jobs_internal.job_steps AS k ON k.job_id = @job_id AND k.version = @version AND k.step_id = @kept;
    -- What only agents read: an option has a line here, whose last argument is its default, and a column of jobs.jobstep_options.
    SET @agent_options = NULLIF((
        SELECT NULLIF(COALESCE(@bind_parameters, CAST(JSON_VALUE(@agent_options, N'$.bind_parameters') AS BIT)), 0) AS bind_parameters
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    ), N'{}');

    IF @mode <> N'Options'
        EXECUTE jobs_internal.check_step
            @command_type = @command_type OUTPUT,
            @command_source = @command_source,
            @initial_retry_interval_seconds = @initial_retry_interval_seconds,
            @maximum_retry_interval_seconds = @maximum_retry_interval_seconds,
            @retry_interval_backoff_multiplier = @retry_interval_backoff_multiplier,
            @retry_attempts = @retry_attempts,
            @step_timeout_seconds = @step_timeout_seconds,
            @output_type = @output_type,
            @output_server_name = @output_server_name,
            @output_database_name = @output_database_name,
            @output_table_name = @output_table_name,
            @max_parallelism = @max_parallelism;
    IF @mode = N'Update' AND @command IS NULL AND @command_type <> @former_type
        THROW 50009, N'Missing command: a change of @command_type needs @command.', 1;
    IF @command_type = N'TSql' AND @on_unknown_outcome = N'Await' AND @awaits = 1
        THROW 50059, N'Invalid @on_unknown_outcome ''Await'': only actions can await a report, and the step is of type TSql.', 1;
    IF @command_type = N'TSql' AND @on_unknown_outcome = N'Await'
        THROW 50059, N'Invalid @command_type ''TSql'': the step''s on_unknown_outcome is Await, which only actions can have.', 1;
    -- A text is stored anew if it differs at all.
    IF @command IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_commands AS c
            WHERE c.command_id = @command_id
                AND c.command_type = @command_type
                AND c.command = @command COLLATE Latin1_General_BIN2
                AND DATALENGTH(c.command) = DATALENGTH(@command)
        )
        SET @command_id = NULL;
    IF @mode <> N'Options' AND @command_id IS NULL
        EXECUTE jobs_internal.check_action @command_type = @command_type, @command = @command;

    IF @mode IN (N'Add', N'Set')
        SET @target_group_name = COALESCE(@target_group_name, N'');
    IF @target_group_name IS NULL
        SET @target_group_name = @former_group;
    ELSE IF @target_group_name = N'' AND @command_type <> N'TSql'
        -- An action without a group has one target, its endpoint.
        SELECT
            @target_group_name = N'(endpoint)',
            @target_group_id = '00000000-0000-0000-0000-000000000000';
    ELSE IF @mode <> N'Options'
        EXECUTE jobs_internal.lock_target_group
            @target_group_name = @target_group_name OUTPUT,
            @target_group_id = @target_group_id OUTPUT;
    IF @mode <> N'Options' AND @command_type = N'Drift' AND @target_group_id = '00000000-0000-0000-0000-000000000000'
        THROW 50490, N'Missing target group name: a step of type Drift needs @target_group_name.', 1;
    IF @mode = N'Update' AND @command_type = N'TSql' AND @target_group_id = '00000000-0000-0000-0000-000000000000'
        THROW 50012, N'Missing target group name: a TSql step needs @target_group_name.', 1;

    SET @place = COALESCE(CASE WHEN @mode IN (N'Add', N'Set') THEN @step_id ELSE @new_id END, @found, @steps + 1);
    IF @mode <> N'Options' AND (@place < 1 OR @place > @steps + @created)
    BEGIN
        SET @parameter = CASE WHEN @mode = N'Update' THEN N'@new_id' ELSE N'@step_id' END;
        SET @message = REPLACE(CONCAT(
            N'Invalid ', @parameter, N' ', @place, N': want 1 to ', @steps + @created, N', because the job ''', @job_name, N''' has ',
            @steps, N' step', CASE WHEN @steps <> 1 THEN N's' END, N'.'
        ), N'%', N'%%');
        THROW 50011, @message, 1;
    END;
    IF @mode = N'Add' AND COALESCE(LTRIM(@name), N'') = N''
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Missing step name: @step_name is NULL or empty, and the job ''', @job_name, N''' has ', @steps, N' step',
            CASE WHEN @steps <> 1 THEN N's' END, N' already.'
        ), N'%', N'%%');
        THROW 50010, @message, 1;
    END;
    IF @mode <> N'Options' AND (@created = 1 OR @new_name IS NOT NULL)
    BEGIN
        SET @parameter = CASE WHEN @created = 1 THEN N'@step_name' ELSE N'@new_name' END;
        EXECUTE jobs_internal.check_name @name = @name, @parameter = @parameter;
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.job_steps AS s
            WHERE s.job_id = @job_id
                AND s.version = @version
                AND s.step_name = @name
                AND s.step_id <> COALESCE(@found, 0)
        )
        BEGIN
            SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has a step named ''', @name, N''' already.'), N'%', N'%%');
            THROW 50105, @message, 1;
        END;
    END;

    IF @command_id IS NULL
    BEGIN
        INSERT INTO jobs_internal.step_commands (job_id, command_type, command_source, command)
        VALUES (@job_id, @command_type, N'Inline', @command);
        SET @command_id = SCOPE_IDENTITY();
    END;
    EXECUTE jobs_internal.copy_steps
        @job_id = @job_id,
        @version = @version,
        @from = @found,
        @to = @place,
        @job_version = @job_version OUTPUT;
    IF @created = 1
        INSERT INTO jobs_internal.job_steps (
            job_id, version, step_id, step_name, command_id, target_group_id, target_group_name, initial_retry_interval_seconds,
            maximum_retry_interval_seconds, retry_interval_backoff_multiplier, retry_attempts, step_timeout_seconds
        )
        VALUES (
            @job_id, @job_version, @place, @name, @command_id, @target_group_id, @target_group_name, @initial_retry_interval_seconds,
            @maximum_retry_interval_seconds, @retry_interval_backoff_multiplier, @retry_attempts, @step_timeout_seconds
        );
    UPDATE s
    SET s.step_name = @name,
        s.command_id = @command_id,
        s.credential_name = @credential_name,
        s.target_group_id = @target_group_id,
        s.target_group_name = @target_group_name,
        s.initial_retry_interval_seconds = @initial_retry_interval_seconds,
        s.maximum_retry_interval_seconds = @maximum_retry_interval_seconds,
        s.retry_interval_backoff_multiplier = @retry_interval_backoff_multiplier,
        s.retry_attempts = @retry_attempts,
        s.step_timeout_seconds = @step_timeout_seconds,
        s.output_type = CASE WHEN @output_type IS NOT NULL THEN N'SqlDatabase' END,
        s.output_credential_name = @output_credential_name,
        s.output_subscription_id = @output_subscription_id,
        s.output_resource_group_name = @output_resource_group_name,
        s.output_server_name = @output_server_name,
        s.output_database_name = @output_database_name,
        s.output_schema_name = CASE
            WHEN @output_type IS NOT NULL THEN COALESCE(@output_schema_name, N'dbo')
            ELSE @output_schema_name
        END,
        s.output_table_name = @output_table_name,
        s.max_parallelism = @max_parallelism,
        s.on_unknown_outcome = @on_unknown_outcome,
        s.at_most_once = @at_most_once,
        s.retry_errors = @retry_errors,
        s.tolerated_failures = @tolerated_failures,
        s.agent_options = @agent_options
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @job_version
        AND s.step_id = @place;
    IF COALESCE(@after, @run_when, @on_targets) IS NOT NULL
        EXECUTE jobs_internal.set_dependencies
            @job_name = @job_name,
            @job_id = @job_id,
            @version = @job_version,
            @step_id = @place,
            @after = @after,
            @run_when = @run_when,
            @on_targets = @on_targets;
    EXECUTE jobs_internal.check_dependencies @job_name = @job_name, @job_id = @job_id, @version = @job_version;

    -- The step has changed if its state has: the settings, the position, and the steps before it. In it, the multiplier is rounded, and the
    -- target group has only its name.
    EXECUTE jobs_internal.state_of_step @job_id = @job_id, @version = @job_version, @step_id = @place, @state = @audit_after OUTPUT;
    SET @changed = CASE
        WHEN CAST(@audit_before AS VARBINARY(MAX)) = CAST(@audit_after AS VARBINARY(MAX))
            AND @former_group_id = @target_group_id
            AND @former_multiplier = @retry_interval_backoff_multiplier THEN NULL
        ELSE @place
    END;
    EXECUTE jobs_internal.finish_version
        @job_id = @job_id,
        @version = @version,
        @changed = @changed,
        @job_version = @job_version OUTPUT,
        @revision = @revision_after OUTPUT;
    SET @revision = CASE WHEN @changed IS NULL THEN @former_revision ELSE @revision_after END;
    SET @step_id = @place;

    -- A schedule that became due while the job had no steps becomes due again with the first step.
    IF @steps = 0
    BEGIN
        SELECT @schedule_id = s.schedule_id
        FROM jobs_internal.schedules AS s
        WHERE s.job_id = @job_id
            AND s.name = N''
            AND s.enabled = 1
            AND s.executions = 0
            AND s.last_due_at IS NOT NULL;
        IF @schedule_id IS NOT NULL
            EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
    END;

    SET @action = CASE
        WHEN @mode = N'Options' THEN N'sp_set_jobstep_options'
        WHEN @created = 1 THEN N'sp_add_jobstep'
        ELSE N'sp_update_jobstep'
    END;
    EXECUTE jobs_internal.audit
        @action = @action,
        @object_kind = N'JobStep',
        @object_id = @place,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @version_before = @version,
        @version_after = @job_version,
        @revision_before = @revision_before,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
