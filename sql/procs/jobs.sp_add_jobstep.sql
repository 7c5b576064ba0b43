-- Adds a step to a job, which creates a new version of the job. Active runs keep their version.
--
-- Parameters:
--   @job_name                           Name of the job.
--   @step_id                            Position, from 1 to the number of steps + 1; later steps move up. NULL: last.
--                                       Receives the position.
--   @step_name                          Name; unique within the job. NULL: JobStep, for the first step only.
--   @command_type                       TSql, or an action such as Http: see the view jobs.command_types.
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
--   50017 a time limit of the step is out of range.
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
--   50490 a step of type Drift has no target group.
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
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_step
        @mode = N'Add',
        @job_name = @job_name,
        @step_id = @step_id OUTPUT,
        @step_name = @step_name,
        @command_type = @command_type,
        @command_source = @command_source,
        @command = @command,
        @credential_name = @credential_name,
        @target_group_name = @target_group_name,
        @initial_retry_interval_seconds = @initial_retry_interval_seconds,
        @maximum_retry_interval_seconds = @maximum_retry_interval_seconds,
        @retry_interval_backoff_multiplier = @retry_interval_backoff_multiplier,
        @retry_attempts = @retry_attempts,
        @step_timeout_seconds = @step_timeout_seconds,
        @output_type = @output_type,
        @output_credential_name = @output_credential_name,
        @output_subscription_id = @output_subscription_id,
        @output_resource_group_name = @output_resource_group_name,
        @output_server_name = @output_server_name,
        @output_database_name = @output_database_name,
        @output_schema_name = @output_schema_name,
        @output_table_name = @output_table_name,
        @job_version = @job_version OUTPUT,
        @max_parallelism = @max_parallelism,
        @after = @after,
        @run_when = @run_when,
        @on_targets = @on_targets,
        @retry_errors = @retry_errors,
        @tolerated_failures = @tolerated_failures,
        @on_unknown_outcome = @on_unknown_outcome,
        @at_most_once = @at_most_once,
        @bind_parameters = @bind_parameters;
    RETURN 0;
END;
