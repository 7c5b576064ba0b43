-- Changes a step, which creates a new version of the job, unless nothing changes. Omitted or NULL values stay unchanged. Active runs
-- keep their version.
--
-- Parameters:
--   @job_name                           Name of the job.
--   @step_id                            Position of the step. Either it or @step_name is required, unless the job has
--                                       one step.
--   @step_name                          Name of the step.
--   @new_id                             New position. Other steps move so that positions have no gaps.
--   @new_name                           New name; unique within the job.
--   @command_type                       TSql, or an action: Http, StorageQueue, ServiceBusQueue, ServiceBusTopic or Process.
--                                       A change of the type needs @command, too.
--   @command_source                     Inline.
--   @command                            TSql: the script. Actions: the definition, a JSON object.
--   @credential_name                    Credential that runs the step; empty text: the agent's default.
--   @target_group_name                  Target group on which the step runs; empty text, only for actions: no group.
--   @initial_retry_interval_seconds     Wait before the first retry.
--   @maximum_retry_interval_seconds     Maximum wait between two attempts.
--   @retry_interval_backoff_multiplier  Factor between two successive waits.
--   @retry_attempts                     Retries after the first attempt.
--   @step_timeout_seconds               Time limit of the step on one database, waits included.
--   @output_type                        SqlDatabase; empty text: no output.
--   @output_credential_name             Credential that writes the output; empty text: the agent's default.
--   @output_server_name                 Server of the output table; empty text: NULL.
--   @output_database_name               Database of the output table; empty text: NULL.
--   @output_schema_name                 Schema of the output table; empty text: NULL, which means dbo.
--   @output_table_name                  Name of the output table; empty text: NULL.
--   @job_version                        Receives the job's current version.
--   @max_parallelism                    Maximum number of databases of one elastic pool (of one server, outside pools)
--                                       at once; -1: no limit.
--   @output_subscription_id             Stored and shown in the views; without effect outside Azure; zero: NULL.
--   @output_resource_group_name         Stored and shown in the views; empty text: NULL.
--   @after                              Names of the steps that must be final before it starts: one name, names separated by
--                                       commas, or a JSON array of names. Empty text: none, it starts with the run. (default):
--                                       the step before it.
--   @run_when                           When it starts, once those steps are final: Succeeded (all of them succeeded),
--                                       Failed (at least one failed), or Finished.
--   @on_targets                         All: the databases of the target group. Failed: those targets of the steps in @after
--                                       that failed or exceeded their time limit. Succeeded: those on which all of these
--                                       steps succeeded; with @run_when Succeeded it then starts also if some failed.
--   @if_match                            The step's revision must be this one; NULL: any.
--   @retry_errors                       Failures after which another attempt follows. All: every failure. Transient: those whose
--                                       error may pass by itself, such as a lost connection, a deadlock, a time-out or throttling.
--   @tolerated_failures                 How many targets of the step may fail, and it succeeds: a number, or a percentage of the
--                                       targets on which it ran, such as 1%. Exceeded time limits count, cancellations are never
--                                       tolerated. 0, the default: none.
--   @on_unknown_outcome                 Reaction to an attempt whose outcome is unknown: Retry, by the step's retry policy, Fail, or, only
--                                       for actions, Await: see sp_set_jobstep_options. NULL: unchanged.
--   @at_most_once                       1: no attempt runs the script again once it has committed: see sp_set_jobstep_options.
--   @bind_parameters                    1: the parameters of a run are variables of the script: see sp_set_jobstep_options.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the target group's row (U); then inserts into job_versions, step_commands, job_steps and
--            job_step_dependencies; the new version's step (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50007 the command type is unknown.
--   50008 the command source is not Inline.
--   50009 the command is empty, or missing although the command type changes.
--   50010 the new name is empty.
--   50011 the new id is out of range.
--   50012 the target group name of a TSql step is missing or empty.
--   50013 the initial retry interval is out of range.
--   50014 the maximum retry interval is out of range.
--   50015 the retry interval backoff multiplier is below 1.
--   50016 the number of retry attempts is negative.
--   50017 the step timeout is out of range.
--   50018 the output type is not SqlDatabase.
--   50019 the output lacks its server, database or table name.
--   50020 the maximum parallelism is below 1.
--   50021 neither step id nor step name is given.
--   50030 step id and step name refer to different steps.
--   50032 @on_unknown_outcome is neither Retry, Fail nor Await.
--   50057 an action has an output.
--   50058 the definition of an action is invalid.
--   50059 a TSql step would await a report.
--   50063 @run_when is not Succeeded, Failed or Finished.
--   50064 @on_targets is not All, Failed or Succeeded.
--   50065 @after is not a list of names.
--   50066 a step whose @run_when is Failed, or whose @on_targets is not All, comes after no step.
--   50067 a step with @on_targets Failed has the @run_when Succeeded.
--   50068 @retry_errors is neither All nor Transient.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50104 the job step does not exist.
--   50105 a step of the new name exists already.
--   50106 the target group does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50142 @after names a step that does not exist.
--   50143 steps come after each other.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
--   50400 @tolerated_failures is neither a number nor a percentage.
--   50403 the server name has not the form host, host\instance or host,port.
CREATE OR ALTER PROCEDURE jobs.sp_update_jobstep
    @job_name                          NVARCHAR(129),
    @step_id                           INT = NULL,
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
    @output_server_name                NVARCHAR(257) = NULL,
    @output_database_name              NVARCHAR(129) = NULL,
    @output_schema_name                NVARCHAR(129) = NULL,
    @output_table_name                 NVARCHAR(129) = NULL,
    @job_version                       INT = NULL OUTPUT,
    @max_parallelism                   INT = NULL,
    @output_subscription_id            UNIQUEIDENTIFIER = NULL,
    @output_resource_group_name        NVARCHAR(129) = NULL,
    @after                             NVARCHAR(MAX) = NULL,
    @run_when                          NVARCHAR(51) = NULL,
    @on_targets                        NVARCHAR(51) = NULL,
    @if_match                          BIGINT = NULL,
    @retry_errors                      NVARCHAR(51) = NULL,
    @tolerated_failures                NVARCHAR(11) = NULL,
    @on_unknown_outcome                NVARCHAR(11) = NULL,
    @at_most_once                      BIT = NULL,
    @bind_parameters                   BIT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @steps INT;
    DECLARE @found INT;
    DECLARE @command_id BIGINT;
    DECLARE @former_type NVARCHAR(50);
    DECLARE @names NVARCHAR(MAX);
    DECLARE @given_outcome NVARCHAR(10) = @on_unknown_outcome;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@step_name) > 256
        THROW 50097, N'Invalid @step_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@new_name) > 256
        THROW 50097, N'Invalid @new_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@command_type) > 100
        THROW 50097, N'Invalid @command_type: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@command_source) > 100
        THROW 50097, N'Invalid @command_source: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@credential_name) > 256
        THROW 50097, N'Invalid @credential_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_type) > 100
        THROW 50097, N'Invalid @output_type: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@output_credential_name) > 256
        THROW 50097, N'Invalid @output_credential_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_server_name) > 512
        THROW 50097, N'Invalid @output_server_name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@output_database_name) > 256
        THROW 50097, N'Invalid @output_database_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_schema_name) > 256
        THROW 50097, N'Invalid @output_schema_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_table_name) > 256
        THROW 50097, N'Invalid @output_table_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_resource_group_name) > 256
        THROW 50097, N'Invalid @output_resource_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@run_when) > 100
        THROW 50097, N'Invalid @run_when: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@on_targets) > 100
        THROW 50097, N'Invalid @on_targets: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@retry_errors) > 100
        THROW 50097, N'Invalid @retry_errors: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@tolerated_failures) > 20
        THROW 50097, N'Invalid @tolerated_failures: want at most 10 characters, not 11 or more.', 1;
    IF DATALENGTH(@on_unknown_outcome) > 20
        THROW 50097, N'Invalid @on_unknown_outcome: want at most 10 characters, not 11 or more.', 1;

    IF @command IS NOT NULL AND LTRIM(@command) = N''
        THROW 50009, N'Missing command: @command is empty.', 1;
    IF @new_name IS NOT NULL AND LTRIM(@new_name) = N''
        THROW 50010, N'Missing step name: @new_name is empty.', 1;
    EXECUTE jobs_internal.check_name @name = @new_name, @parameter = N'@new_name';
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

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_steps @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    EXECUTE jobs_internal.find_step
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @version,
        @step_id = @step_id,
        @step_name = @step_name,
        @allow_only_step = 1,
        @if_match = @if_match,
        @found = @found OUTPUT;
    EXECUTE jobs_internal.state_of_step
        @job_id = @job_id,
        @version = @version,
        @step_id = @found,
        @state = @audit_before OUTPUT,
        @revision = @revision_before OUTPUT;
    SELECT @former_type = c.command_type
    FROM jobs_internal.job_steps AS s
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.step_id = @found;
    SET @command_type = COALESCE(@command_type, @former_type);
    -- Actions may do without a group; their only target is the endpoint then.
    IF @target_group_name = N'' AND @command_type COLLATE Latin1_General_100_CI_AS <> N'tsql'
        SELECT
            @target_group_name = N'(endpoint)',
            @target_group_id = '00000000-0000-0000-0000-000000000000';
    ELSE IF @target_group_name IS NOT NULL
        EXECUTE jobs_internal.lock_target_group
            @target_group_name = @target_group_name OUTPUT,
            @target_group_id = @target_group_id OUTPUT;

    SELECT @steps = COUNT(*)
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version;

    SET @new_id = COALESCE(@new_id, @found);
    IF @new_id < 1 OR @new_id > @steps
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @new_id ', @new_id, N': want 1 to ', @steps, N', because the job ''', @job_name, N''' has ', @steps, N' step',
            CASE WHEN @steps <> 1 THEN N's' END, N'.'
        ), N'%', N'%%');
        THROW 50011, @message, 1;
    END;
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_name = @new_name
            AND s.step_id <> @found
    )
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has a step named ''', @new_name, N''' already.'), N'%', N'%%');
        THROW 50105, @message, 1;
    END;

    -- An omitted parameter keeps the value; an empty text or -1 removes it.
    SELECT
        @new_name = COALESCE(@new_name, s.step_name),
        @command_id = CASE
            WHEN @command IS NULL THEN s.command_id
            WHEN @command_type COLLATE Latin1_General_100_CI_AS <> c.command_type THEN NULL
            WHEN @command = c.command COLLATE Latin1_General_BIN2 AND DATALENGTH(@command) = DATALENGTH(c.command) THEN s.command_id
        END,
        @command_source = COALESCE(@command_source, c.command_source),
        @credential_name = NULLIF(COALESCE(@credential_name, s.credential_name), N''),
        @target_group_id = COALESCE(@target_group_id, s.target_group_id),
        @target_group_name = COALESCE(@target_group_name, s.target_group_name),
        @initial_retry_interval_seconds = COALESCE(@initial_retry_interval_seconds, s.initial_retry_interval_seconds),
        @maximum_retry_interval_seconds = COALESCE(@maximum_retry_interval_seconds, s.maximum_retry_interval_seconds),
        @retry_interval_backoff_multiplier = COALESCE(@retry_interval_backoff_multiplier, s.retry_interval_backoff_multiplier),
        @retry_attempts = COALESCE(@retry_attempts, s.retry_attempts),
        @step_timeout_seconds = COALESCE(@step_timeout_seconds, s.step_timeout_seconds),
        @output_type = NULLIF(COALESCE(@output_type, s.output_type), N''),
        @output_credential_name = NULLIF(COALESCE(@output_credential_name, s.output_credential_name), N''),
        @output_subscription_id = NULLIF(
            COALESCE(@output_subscription_id, s.output_subscription_id), '00000000-0000-0000-0000-000000000000'
        ),
        @output_resource_group_name = NULLIF(COALESCE(@output_resource_group_name, s.output_resource_group_name), N''),
        @output_server_name = NULLIF(COALESCE(@output_server_name, s.output_server_name), N''),
        @output_database_name = NULLIF(COALESCE(@output_database_name, s.output_database_name), N''),
        @output_schema_name = NULLIF(COALESCE(@output_schema_name, s.output_schema_name), N''),
        @output_table_name = NULLIF(COALESCE(@output_table_name, s.output_table_name), N''),
        @max_parallelism = NULLIF(COALESCE(@max_parallelism, s.max_parallelism), -1),
        @retry_errors = COALESCE(@retry_errors, s.retry_errors),
        @tolerated_failures = COALESCE(@tolerated_failures, s.tolerated_failures),
        @on_unknown_outcome = COALESCE(@on_unknown_outcome, s.on_unknown_outcome),
        @at_most_once = COALESCE(@at_most_once, s.at_most_once),
        @bind_parameters = COALESCE(@bind_parameters, s.bind_parameters)
    FROM jobs_internal.job_steps AS s
    INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
    WHERE s.job_id = @job_id
        AND s.version = @version
        AND s.step_id = @found;

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
    EXECUTE jobs_internal.check_retry_errors @retry_errors = @retry_errors OUTPUT;
    EXECUTE jobs_internal.check_tolerated_failures @tolerated_failures = @tolerated_failures OUTPUT;
    EXECUTE jobs_internal.check_unknown_outcome @on_unknown_outcome = @on_unknown_outcome OUTPUT;

    IF @command_type <> @former_type AND @command IS NULL
        THROW 50009, N'Missing command: a change of @command_type needs @command.', 1;
    IF @command_type = N'TSql' AND @target_group_id = '00000000-0000-0000-0000-000000000000'
        THROW 50012, N'Missing target group name: a TSql step needs @target_group_name.', 1;
    IF @command_type = N'TSql' AND @on_unknown_outcome = N'Await' AND @given_outcome IS NOT NULL
        THROW 50059, N'Invalid @on_unknown_outcome ''Await'': only actions can await a report, and the step is of type TSql.', 1;
    IF @command_type = N'TSql' AND @on_unknown_outcome = N'Await'
        THROW 50059, N'Invalid @command_type ''TSql'': the step''s on_unknown_outcome is Await, which only actions can have.', 1;
    IF @command_id IS NULL
    BEGIN
        EXECUTE jobs_internal.check_action @command_type = @command_type, @command = @command;
        INSERT INTO jobs_internal.step_commands (job_id, command_type, command_source, command)
        VALUES (@job_id, @command_type, N'Inline', @command);
        SET @command_id = SCOPE_IDENTITY();
    END;

    EXECUTE jobs_internal.copy_steps
        @job_id = @job_id,
        @version = @version,
        @from = @found,
        @to = @new_id,
        @job_version = @job_version OUTPUT;
    UPDATE s
    SET s.step_name = @new_name,
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
        s.retry_errors = @retry_errors,
        s.tolerated_failures = @tolerated_failures,
        s.on_unknown_outcome = @on_unknown_outcome,
        s.at_most_once = @at_most_once,
        s.bind_parameters = @bind_parameters
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @job_version
        AND s.step_id = @new_id;
    EXECUTE jobs_internal.set_dependencies
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @job_version,
        @step_id = @new_id,
        @after = @after,
        @run_when = @run_when,
        @on_targets = @on_targets;
    EXECUTE jobs_internal.check_dependencies @job_name = @job_name, @job_id = @job_id, @version = @job_version;
    EXECUTE jobs_internal.finish_version @job_id = @job_id, @version = @version, @job_version = @job_version OUTPUT;

    EXECUTE jobs_internal.state_of_step
        @job_id = @job_id,
        @version = @job_version,
        @step_id = @new_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_update_jobstep',
        @object_kind = N'JobStep',
        @object_id = @new_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @version_before = @version,
        @version_after = @job_version,
        @revision_before = @revision_before,
        @revision_after = @revision_after;

    COMMIT TRANSACTION;
    RETURN 0;
END;
