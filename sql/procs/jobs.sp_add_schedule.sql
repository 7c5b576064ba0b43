-- Adds a schedule to a job, beside the schedule of jobs.sp_add_job. Within a second, an agent validates its text and
-- stores the next due instant, or sets the state Faulted and stores all errors: see the view jobs.schedules.
--
-- Parameters:
--   @job_name          Name of the job.
--   @schedule_name     Name; unique within the job, and not empty.
--   @kind              elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule, in any case.
--   @spec              Text of the schedule: JSON in the form of its system, or the bare line for cron5, cron6, quartz
--                      and rrule.
--   @time_zone         IANA or Windows name of the zone in which @spec is read; NULL or empty: the zone that @spec names,
--                      else UTC (azure-scheduler: the offset of its start).
--   @catch_up          Policy for missed runs: last, none, all, window:<duration>, sap-20min; NULL or empty: the policy
--                      in @spec, else last.
--   @overlap           Policy while an earlier run is active: Skip, BufferOne, BufferAll, CancelOther, TerminateOther,
--                      AllowAll or Elastic, in any case; NULL or empty: Elastic for elastic, AllowAll for sap, else
--                      Skip.
--   @pause_on_failure  1: a run that ends Failed or TimedOut pauses the schedule.
--   @enabled           1: due instants become runs.
--   @schedule_id       Receives the new id.
--   @parameters        Parameters of the schedule's runs, as in jobs.sp_start_job.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the range of the name in schedules (U), the stored parameters (S); then an insert into
--            schedules; an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50047 the schedule name is missing or empty.
--   50048 the schedule kind is invalid.
--   50049 the schedule text is missing or empty.
--   50050 the overlap policy is invalid.
--   50069 a value does not have the declared type, or is not one of the choices.
--   50070 the parameters are not a JSON object.
--   50071 the parameters are too long.
--   50072 a name in the parameters is empty, too long, or has a control character.
--   50073 a name in the parameters is there twice.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50126 a schedule of this name exists already.
--   50159 a required parameter is missing.
--   50160 the job declares no parameter of this name.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_schedule
    @job_name         NVARCHAR(129),
    @schedule_name    NVARCHAR(129),
    @kind             NVARCHAR(21),
    @spec             NVARCHAR(MAX),
    @time_zone        NVARCHAR(129) = NULL,
    @catch_up         NVARCHAR(51) = NULL,
    @overlap          NVARCHAR(21) = NULL,
    @pause_on_failure BIT = 0,
    @enabled          BIT = 1,
    @schedule_id      BIGINT = NULL OUTPUT,
    @parameters       NVARCHAR(MAX) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_schedule
        @mode = N'Add',
        @job_name = @job_name,
        @schedule_name = @schedule_name,
        @kind = @kind,
        @spec = @spec,
        @time_zone = @time_zone,
        @catch_up = @catch_up,
        @overlap = @overlap,
        @pause_on_failure = @pause_on_failure,
        @enabled = @enabled,
        @schedule_id = @schedule_id OUTPUT,
        @parameters = @parameters;
    RETURN 0;
END;
