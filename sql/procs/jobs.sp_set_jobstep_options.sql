-- Sets step options that Azure does not have, which creates a new version of the job, unless nothing changes. Omitted or NULL options stay
-- unchanged. Active runs keep their version. sp_add_jobstep and sp_update_jobstep take the same options, and those of later
-- releases; this procedure is for scripts that set nothing else.
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
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_step
        @mode = N'Options',
        @job_name = @job_name,
        @step_id = @step_id,
        @step_name = @step_name,
        @on_unknown_outcome = @on_unknown_outcome,
        @at_most_once = @at_most_once,
        @job_version = @job_version OUTPUT,
        @bind_parameters = @bind_parameters,
        @after = @after,
        @run_when = @run_when,
        @on_targets = @on_targets,
        @if_match = @if_match,
        @retry_errors = @retry_errors,
        @tolerated_failures = @tolerated_failures;
    RETURN 0;
END;
