-- Adds a step to a job, which creates a new version of the job. Active runs keep their version.
--
-- Parameters:
--   @job_name                           Name of the job.
--   @step_id                            Position, from 1 to the number of steps + 1; later steps move up. NULL: last.
--                                       Receives the position.
--   @step_name                          Name; unique within the job. NULL: JobStep, for the first step only.
--   @command_type                       TSql, or an action: Http, StorageQueue, ServiceBusQueue, ServiceBusTopic or Process.
--   @command_source                     Inline.
--   @command                            TSql: the script; GO lines and script variables $(name) are allowed. Actions: the definition, a
--                                       JSON object.
--   @credential_name                    Credential that runs the step; NULL: the agent's default.
--   @target_group_name                  Target group on which the step runs. NULL, only for actions: the step runs once, and its target is
--                                       the endpoint.
--   @initial_retry_interval_seconds     Wait before the first retry.
--   @maximum_retry_interval_seconds     Maximum wait between two attempts.
--   @retry_interval_backoff_multiplier  Factor between two successive waits.
--   @retry_attempts                     Retries after the first attempt.
--   @step_timeout_seconds               Time limit of the step on one database, waits included.
--   @output_type                        SqlDatabase: the first result set is written to a table. NULL: no output.
--   @output_credential_name             Credential that writes the output; NULL: the agent's default.
--   @output_subscription_id             Stored and shown in the views; without effect outside Azure.
--   @output_resource_group_name         Stored and shown in the views; without effect outside Azure.
--   @output_server_name                 Server of the output table.
--   @output_database_name               Database of the output table.
--   @output_schema_name                 Schema of the output table; NULL: dbo.
--   @output_table_name                  Name of the output table; it is created if it does not exist.
--   @job_version                        Receives the job's new version.
--   @max_parallelism                    Maximum number of databases of one elastic pool (of one server, outside pools)
--                                       on which the step runs at once; NULL: no limit.
--   @after                              Names of the steps that must be final before it starts: one name, names separated by
--                                       commas, or a JSON array of names. Empty text: none, it starts with the run. NULL:
--                                       the step before it.
--   @run_when                           When it starts, once those steps are final: Succeeded (all of them succeeded),
--                                       Failed (at least one failed), or Finished. NULL: Succeeded.
--   @on_targets                         All: the databases of the target group. Failed: those targets of the steps in @after
--                                       that failed or exceeded their time limit. Succeeded: those on which all of these
--                                       steps succeeded; with @run_when Succeeded it then starts also if some failed. NULL: All.
--   @retry_errors                       Failures after which another attempt follows. All, the default: every failure. Transient: those
--                                       whose error may pass by itself, such as a lost connection, a deadlock, a time-out or throttling.
--   @tolerated_failures                 How many targets of the step may fail, and it succeeds: a number, or a percentage of the
--                                       targets on which it ran, such as 1%. Exceeded time limits count, cancellations are never
--                                       tolerated. 0, the default: none.
--   @on_unknown_outcome                 Reaction to an attempt whose outcome is unknown: Retry, by the step's retry policy, Fail, or, only
--                                       for actions, Await: see sp_set_jobstep_options. NULL: Retry.
--   @at_most_once                       1: no attempt runs the script again once it has committed: see sp_set_jobstep_options.
--   @bind_parameters                    1: the parameters of a run are variables of the script: see sp_set_jobstep_options.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the target group's row (U); then inserts into job_versions, step_commands, job_steps and
--            job_step_dependencies; an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50007 the command type is unknown.
--   50008 the command source is not Inline.
--   50009 the command is missing or empty.
--   50010 the step name is missing or empty.
--   50011 the step id is out of range.
--   50012 the target group name of a TSql step is missing or empty.
--   50013 the initial retry interval is out of range.
--   50014 the maximum retry interval is out of range.
--   50015 the retry interval backoff multiplier is below 1.
--   50016 the number of retry attempts is negative.
--   50017 the step timeout is out of range.
--   50018 the output type is not SqlDatabase.
--   50019 the output lacks its server, database or table name.
--   50020 the maximum parallelism is below 1.
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
--   50098 a name is empty.
--   50100 the job does not exist.
--   50105 a step of this name exists already.
--   50106 the target group does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50142 @after names a step that does not exist.
--   50143 steps come after each other.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50400 @tolerated_failures is neither a number nor a percentage.
--   50403 the server name has not the form host, host\instance or host,port.
CREATE OR ALTER PROCEDURE jobs.sp_add_jobstep
    @job_name                          NVARCHAR(129),
    @step_id                           INT = NULL OUTPUT,
    @step_name                         NVARCHAR(129) = NULL,
    @command_type                      NVARCHAR(51) = N'TSql',
    @command_source                    NVARCHAR(51) = N'Inline',
    @command                           NVARCHAR(MAX) = NULL,
    @credential_name                   NVARCHAR(129) = NULL,
    @target_group_name                 NVARCHAR(129) = NULL,
    @initial_retry_interval_seconds    INT = 1,
    @maximum_retry_interval_seconds    INT = 120,
    @retry_interval_backoff_multiplier REAL = 2.0,
    @retry_attempts                    INT = 10,
    @step_timeout_seconds              INT = 43200,
    @output_type                       NVARCHAR(51) = NULL,
    @output_credential_name            NVARCHAR(129) = NULL,
    @output_subscription_id            UNIQUEIDENTIFIER = NULL,
    @output_resource_group_name        NVARCHAR(129) = NULL,
    @output_server_name                NVARCHAR(257) = NULL,
    @output_database_name              NVARCHAR(129) = NULL,
    @output_schema_name                NVARCHAR(129) = NULL,
    @output_table_name                 NVARCHAR(129) = NULL,
    @job_version                       INT = NULL OUTPUT,
    @max_parallelism                   INT = NULL,
    @after                             NVARCHAR(MAX) = NULL,
    @run_when                          NVARCHAR(51) = NULL,
    @on_targets                        NVARCHAR(51) = NULL,
    @retry_errors                      NVARCHAR(51) = N'All',
    @tolerated_failures                NVARCHAR(11) = N'0',
    @on_unknown_outcome                NVARCHAR(11) = NULL,
    @at_most_once                      BIT = NULL,
    @bind_parameters                   BIT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @steps INT;
    DECLARE @command_id BIGINT;
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @names NVARCHAR(MAX);
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@step_name) > 256
        THROW 50097, N'Invalid @step_name: want at most 128 characters, not 129 or more.', 1;
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
    IF DATALENGTH(@output_resource_group_name) > 256
        THROW 50097, N'Invalid @output_resource_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_server_name) > 512
        THROW 50097, N'Invalid @output_server_name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@output_database_name) > 256
        THROW 50097, N'Invalid @output_database_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_schema_name) > 256
        THROW 50097, N'Invalid @output_schema_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@output_table_name) > 256
        THROW 50097, N'Invalid @output_table_name: want at most 128 characters, not 129 or more.', 1;
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
    IF LTRIM(@credential_name) = N''
        THROW 50098, N'Invalid @credential_name: the name is empty. Omit it to use the default credential of the agent.', 1;
    IF LTRIM(@target_group_name) = N''
        THROW 50098, N'Invalid @target_group_name: the name is empty. Omit it if the action shall run once, without a target group.', 1;
    IF LTRIM(@output_credential_name) = N''
        THROW 50098, N'Invalid @output_credential_name: the name is empty. Omit it to use the default credential of the agent.', 1;

    -- An explicit NULL means the default.
    SET @command_type = COALESCE(@command_type, N'TSql');
    SET @command_source = COALESCE(@command_source, N'Inline');
    SET @initial_retry_interval_seconds = COALESCE(@initial_retry_interval_seconds, 1);
    SET @maximum_retry_interval_seconds = COALESCE(@maximum_retry_interval_seconds, 120);
    SET @retry_interval_backoff_multiplier = COALESCE(@retry_interval_backoff_multiplier, 2.0);
    SET @retry_attempts = COALESCE(@retry_attempts, 10);
    SET @step_timeout_seconds = COALESCE(@step_timeout_seconds, 43200);
    SET @retry_errors = COALESCE(@retry_errors, N'All');
    SET @tolerated_failures = COALESCE(@tolerated_failures, N'0');
    SET @on_unknown_outcome = COALESCE(@on_unknown_outcome, N'Retry');
    SET @at_most_once = COALESCE(@at_most_once, 0);
    SET @bind_parameters = COALESCE(@bind_parameters, 0);
    SET @credential_name = NULLIF(@credential_name, N'');
    SET @output_type = NULLIF(@output_type, N'');
    SET @output_credential_name = NULLIF(@output_credential_name, N'');
    SET @output_server_name = NULLIF(@output_server_name, N'');
    SET @output_database_name = NULLIF(@output_database_name, N'');
    SET @output_schema_name = NULLIF(@output_schema_name, N'');
    SET @output_table_name = NULLIF(@output_table_name, N'');
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
    IF @on_unknown_outcome = N'Await' AND @command_type = N'TSql'
        THROW 50059, N'Invalid @on_unknown_outcome ''Await'': only actions can await a report, and the step is of type TSql.', 1;
    IF @command IS NULL OR LTRIM(@command) = N''
        THROW 50009, N'Missing command: @command is NULL or empty.', 1;
    EXECUTE jobs_internal.check_action @command_type = @command_type, @command = @command;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_steps @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    IF @command_type = N'TSql' OR @target_group_name <> N''
        EXECUTE jobs_internal.lock_target_group
            @target_group_name = @target_group_name OUTPUT,
            @target_group_id = @target_group_id OUTPUT;
    ELSE
        -- An action without a group has one target, its endpoint.
        SELECT
            @target_group_name = N'(endpoint)',
            @target_group_id = '00000000-0000-0000-0000-000000000000';

    SELECT @steps = COUNT(*)
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @version;

    SET @step_id = COALESCE(@step_id, @steps + 1);
    IF @step_id < 1 OR @step_id > @steps + 1
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @step_id ', @step_id, N': want 1 to ', @steps + 1, N', because the job ''', @job_name, N''' has ', @steps, N' step',
            CASE WHEN @steps <> 1 THEN N's' END, N'.'
        ), N'%', N'%%');
        THROW 50011, @message, 1;
    END;

    IF @step_name IS NULL AND @steps = 0
        SET @step_name = N'JobStep';
    IF @step_name IS NULL OR LTRIM(@step_name) = N''
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Missing step name: @step_name is NULL or empty, and the job ''', @job_name, N''' has ', @steps, N' step',
            CASE WHEN @steps <> 1 THEN N's' END, N' already.'
        ), N'%', N'%%');
        THROW 50010, @message, 1;
    END;
    EXECUTE jobs_internal.check_name @name = @step_name, @parameter = N'@step_name';
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        WHERE s.job_id = @job_id
            AND s.version = @version
            AND s.step_name = @step_name
    )
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' has a step named ''', @step_name, N''' already.'), N'%', N'%%');
        THROW 50105, @message, 1;
    END;

    INSERT INTO jobs_internal.step_commands (job_id, command_type, command_source, command)
    VALUES (@job_id, @command_type, N'Inline', @command);
    SET @command_id = SCOPE_IDENTITY();
    EXECUTE jobs_internal.copy_steps
        @job_id = @job_id,
        @version = @version,
        @to = @step_id,
        @job_version = @job_version OUTPUT;
    INSERT INTO jobs_internal.job_steps (
        job_id, version, step_id, step_name, command_id, credential_name, target_group_id, target_group_name,
        initial_retry_interval_seconds, maximum_retry_interval_seconds, retry_interval_backoff_multiplier,
        retry_attempts, step_timeout_seconds, output_type, output_credential_name, output_subscription_id,
        output_resource_group_name, output_server_name, output_database_name, output_schema_name,
        output_table_name, max_parallelism, retry_errors, tolerated_failures, on_unknown_outcome, at_most_once, bind_parameters
    )
    VALUES (
        @job_id, @job_version, @step_id, @step_name, @command_id, @credential_name, @target_group_id, @target_group_name,
        @initial_retry_interval_seconds, @maximum_retry_interval_seconds, @retry_interval_backoff_multiplier,
        @retry_attempts, @step_timeout_seconds, CASE WHEN @output_type IS NOT NULL THEN N'SqlDatabase' END,
        @output_credential_name, @output_subscription_id, @output_resource_group_name, @output_server_name,
        @output_database_name, CASE WHEN @output_type IS NOT NULL THEN COALESCE(@output_schema_name, N'dbo') ELSE @output_schema_name END,
        @output_table_name, @max_parallelism, @retry_errors, @tolerated_failures, @on_unknown_outcome, @at_most_once, @bind_parameters
    );
    EXECUTE jobs_internal.set_dependencies
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @job_version,
        @step_id = @step_id,
        @after = @after,
        @run_when = @run_when,
        @on_targets = @on_targets;
    EXECUTE jobs_internal.check_dependencies @job_name = @job_name, @job_id = @job_id, @version = @job_version;
    EXECUTE jobs_internal.finish_version @job_id = @job_id, @version = @version, @job_version = @job_version OUTPUT;

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

    EXECUTE jobs_internal.state_of_step
        @job_id = @job_id,
        @version = @job_version,
        @step_id = @step_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_jobstep',
        @object_kind = N'JobStep',
        @object_id = @step_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @version_before = @version,
        @version_after = @job_version,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
