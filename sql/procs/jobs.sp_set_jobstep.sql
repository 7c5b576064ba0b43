-- Creates a step, or replaces the settings of an existing one: what is omitted gets its default. The options that Azure's REST API does
-- not have (@max_parallelism, dependencies, and those of sp_set_jobstep_options) stay as they are. A change creates a new version of the
-- job; setting the same values again does not. The errors of sp_add_jobstep and sp_update_jobstep are errors of this procedure, too.
--
-- Parameters:
--   @job_name                           Name of the job.
--   @step_name                          Name of the step. An existing step keeps its spelling.
--   @step_id                            Position; NULL: an existing step stays where it is, and a new one is the last.
--   @command_type                       TSql, or an action: see sp_add_jobstep.
--   @command_source                     Inline.
--   @command                            The script, or the definition of an action.
--   @credential_name                    Credential that runs the step; NULL or empty text: the agent's default.
--   @target_group_name                  Target group on which the step runs.
--   @initial_retry_interval_seconds     Wait before the first retry.
--   @maximum_retry_interval_seconds     Maximum wait between two attempts.
--   @retry_interval_backoff_multiplier  Factor between two successive waits.
--   @retry_attempts                     Retries after the first attempt.
--   @step_timeout_seconds               Time limit of the step on one database, waits included.
--   @output_type                        SqlDatabase; NULL: no output.
--   @output_credential_name             Credential that writes the output; NULL or empty text: the agent's default.
--   @output_subscription_id             Stored and shown in the views; without effect outside Azure.
--   @output_resource_group_name         Stored and shown in the views; without effect outside Azure.
--   @output_server_name                 Server of the output table.
--   @output_database_name               Database of the output table.
--   @output_schema_name                 Schema of the output table; NULL: dbo.
--   @output_table_name                  Name of the output table.
--   @if_match                           The step's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @job_version                        Receives the job's current version.
--   @created                            Receives 1 if the step is new.
--   @revision                           Receives the step's revision.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the target group's row (U); then inserts into job_versions, step_commands, job_steps and
--            job_step_dependencies; the new version's step (X).
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50009 the command is missing or empty.
--   50010 the step name is missing or empty.
--   50097 a text is longer than its limit.
--   50098 a name is empty.
--   50100 the job does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
--   50490 a step of type Drift has no target group.
CREATE OR ALTER PROCEDURE jobs.sp_set_jobstep
    @job_name                          NVARCHAR(129),
    @step_name                         NVARCHAR(129),
    @step_id                           INT = NULL,
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
    @if_match                          BIGINT = NULL,
    @job_version                       INT = NULL OUTPUT,
    @created                           BIT = NULL OUTPUT,
    @revision                          BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_step
        @mode = N'Set',
        @job_name = @job_name,
        @step_name = @step_name,
        @step_id = @step_id,
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
        @if_match = @if_match,
        @job_version = @job_version OUTPUT,
        @created = @created OUTPUT,
        @revision = @revision OUTPUT;
    RETURN 0;
END;
