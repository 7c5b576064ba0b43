-- Sets step options that Azure does not have, which creates a new version of the job, unless nothing changes. Omitted or NULL options stay
-- unchanged. Active runs keep their version. A new step has Retry, 0 and All, and comes after the step before it;
-- sp_update_jobstep keeps the options.
--
-- Parameters:
--   @job_name            Name of the job.
--   @step_id             Position of the step. Either it or @step_name is required, unless the job has one step.
--   @step_name           Name of the step.
--   @on_unknown_outcome  Reaction to an attempt whose outcome is unknown (the agent died, or the connection was lost
--                        after the script was sent): Retry, by the step's retry policy, or Fail. Await, only for actions: an
--                        attempt that was sent and got no answer waits for a report (the view jobs.callbacks); other unknown
--                        outcomes are as with Fail.
--   @at_most_once        1: the script runs in one transaction with a row in the target's table
--                        jobagent.executed_scripts, so that no attempt runs it again once it has committed.
--                        targets/mssql/DESIGN.md describes the requirements for scripts and permissions. For an action: an
--                        attempt whose outcome is unknown is not repeated.
--   @job_version         Receives the job's current version.
--   @bind_parameters     1: the parameters of a run are variables in the script's batches: the parameter tenant is @tenant, and
--                        @payload is the whole JSON object. targets/mssql/DESIGN.md describes types and restrictions.
--   @after               Names of the steps that must be final before it starts: one name, names separated by commas, or a
--                        JSON array of names. Empty text: none, it starts with the run. (default): the step before it.
--   @run_when            When it starts, once those steps are final: Succeeded (all of them succeeded), Failed (at least
--                        one failed), or Finished.
--   @on_targets          All: the databases of the target group. Failed: those targets of the steps in @after that failed
--                        or exceeded their time limit. Succeeded: those on which all of these steps succeeded; with @run_when
--                        Succeeded it then starts also if some failed.
--   @if_match             The step's revision must be this one; NULL: any.
--   @retry_errors        Failures after which another attempt follows. All: every failure. Transient: those whose error may
--                        pass by itself, such as a lost connection, a deadlock, a time-out or throttling.
--   @tolerated_failures  How many targets of the step may fail, and it succeeds: a number, or a percentage of the
--                        targets on which it ran, such as 1%. Exceeded time limits count, cancellations are never
--                        tolerated. 0, the default: none.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U); then inserts into job_versions, job_steps and job_step_dependencies; the new version's step
--            (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50021 neither step id nor step name is given.
--   50030 step id and step name refer to different steps.
--   50032 @on_unknown_outcome is neither Retry, Fail nor Await.
--   50033 no option is given.
--   50059 a TSql step would await a report.
--   50063 @run_when is not Succeeded, Failed or Finished.
--   50064 @on_targets is not All, Failed or Succeeded.
--   50065 @after is not a list of names.
--   50066 a step whose @run_when is Failed, or whose @on_targets is not All, comes after no step.
--   50067 a step with @on_targets Failed has the @run_when Succeeded.
--   50068 @retry_errors is neither All nor Transient.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50104 the job step does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50142 @after names a step that does not exist.
--   50143 steps come after each other.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
--   50400 @tolerated_failures is neither a number nor a percentage.
CREATE OR ALTER PROCEDURE jobs.sp_set_jobstep_options
    @job_name           NVARCHAR(129),
    @step_id            INT = NULL,
    @step_name          NVARCHAR(129) = NULL,
    @on_unknown_outcome NVARCHAR(11) = NULL,
    @at_most_once       BIT = NULL,
    @job_version        INT = NULL OUTPUT,
    @bind_parameters    BIT = NULL,
    @after              NVARCHAR(MAX) = NULL,
    @run_when           NVARCHAR(51) = NULL,
    @on_targets         NVARCHAR(51) = NULL,
    @if_match           BIGINT = NULL,
    @retry_errors       NVARCHAR(51) = NULL,
    @tolerated_failures NVARCHAR(11) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @version INT;
    DECLARE @found INT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@step_name) > 256
        THROW 50097, N'Invalid @step_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@on_unknown_outcome) > 20
        THROW 50097, N'Invalid @on_unknown_outcome: want at most 10 characters, not 11 or more.', 1;
    IF DATALENGTH(@run_when) > 100
        THROW 50097, N'Invalid @run_when: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@on_targets) > 100
        THROW 50097, N'Invalid @on_targets: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@retry_errors) > 100
        THROW 50097, N'Invalid @retry_errors: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@tolerated_failures) > 20
        THROW 50097, N'Invalid @tolerated_failures: want at most 10 characters, not 11 or more.', 1;

    IF @on_unknown_outcome IS NULL
        AND @at_most_once IS NULL
        AND @bind_parameters IS NULL
        AND @after IS NULL
        AND @run_when IS NULL
        AND @on_targets IS NULL
        AND @retry_errors IS NULL
        AND @tolerated_failures IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Missing option: want @on_unknown_outcome, @at_most_once, @bind_parameters, @after, @run_when, @on_targets, @retry_errors ',
            N'or @tolerated_failures.'
        ), N'%', N'%%');
        THROW 50033, @message, 1;
    END;
    EXECUTE jobs_internal.check_unknown_outcome @on_unknown_outcome = @on_unknown_outcome OUTPUT;
    EXECUTE jobs_internal.check_retry_errors @retry_errors = @retry_errors OUTPUT;
    EXECUTE jobs_internal.check_tolerated_failures @tolerated_failures = @tolerated_failures OUTPUT;

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
    IF @on_unknown_outcome = N'Await'
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.job_steps AS s
            INNER JOIN jobs_internal.step_commands AS c ON c.command_id = s.command_id
            WHERE s.job_id = @job_id
                AND s.version = @version
                AND s.step_id = @found
                AND c.command_type = N'TSql'
        )
        THROW 50059, N'Invalid @on_unknown_outcome ''Await'': only actions can await a report, and the step is of type TSql.', 1;

    EXECUTE jobs_internal.copy_steps
        @job_id = @job_id,
        @version = @version,
        @job_version = @job_version OUTPUT;
    UPDATE s
    SET s.on_unknown_outcome = COALESCE(@on_unknown_outcome, s.on_unknown_outcome),
        s.at_most_once = COALESCE(@at_most_once, s.at_most_once),
        s.bind_parameters = COALESCE(@bind_parameters, s.bind_parameters),
        s.retry_errors = COALESCE(@retry_errors, s.retry_errors),
        s.tolerated_failures = COALESCE(@tolerated_failures, s.tolerated_failures)
    FROM jobs_internal.job_steps AS s
    WHERE s.job_id = @job_id
        AND s.version = @job_version
        AND s.step_id = @found;
    EXECUTE jobs_internal.set_dependencies
        @job_name = @job_name,
        @job_id = @job_id,
        @version = @job_version,
        @step_id = @found,
        @after = @after,
        @run_when = @run_when,
        @on_targets = @on_targets;
    EXECUTE jobs_internal.check_dependencies @job_name = @job_name, @job_id = @job_id, @version = @job_version;
    EXECUTE jobs_internal.finish_version @job_id = @job_id, @version = @version, @job_version = @job_version OUTPUT;

    EXECUTE jobs_internal.state_of_step
        @job_id = @job_id,
        @version = @job_version,
        @step_id = @found,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_set_jobstep_options',
        @object_kind = N'JobStep',
        @object_id = @found,
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
