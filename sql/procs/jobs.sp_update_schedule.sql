-- Changes a schedule. Omitted or NULL values stay unchanged. A change of kind, text, zone, catch-up or enabled restarts
-- the schedule: instants that were due before are dropped, an agent validates it again, and instants that waited for an
-- earlier run are recorded as skipped. A change of kind, text or zone also ends its open backfills. A change of kind or
-- text also restarts the count in the text, and times that are relative to now. A change of parameters applies to runs
-- that are created from then on, those of waiting instants included.
--
-- Parameters:
--   @job_name          Name of the job.
--   @schedule_name     Name of the schedule. N'' is the schedule of jobs.sp_add_job: only its parameters are changed here, all
--                      else with jobs.sp_update_job.
--   @new_name          New name; unique within the job.
--   @kind              elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule, in any case.
--   @spec              Text of the schedule.
--   @time_zone         IANA or Windows name of a zone; empty: the default of jobs.sp_add_schedule.
--   @catch_up          Policy for missed runs; empty: the default of jobs.sp_add_schedule.
--   @overlap           Policy while an earlier run is active; empty: the default of jobs.sp_add_schedule.
--   @pause_on_failure  1: a run that ends Failed or TimedOut pauses the schedule.
--   @enabled           1: due instants become runs.
--   @parameters        Parameters of the schedule's runs, as in jobs.sp_start_job; empty: none.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the schedule's row (U, X), the range of the new name (U), the stored parameters (S); an insert
--            into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50046 the schedule name is NULL.
--   50047 the new name is empty.
--   50048 the schedule kind is invalid.
--   50049 the schedule text is empty.
--   50050 the overlap policy is invalid.
--   50069 a value does not have the declared type, or is not one of the choices.
--   50070 the parameters are not a JSON object.
--   50071 the parameters are too long.
--   50072 a name in the parameters is empty, too long, or has a control character.
--   50073 a name in the parameters is there twice.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50125 the schedule does not exist.
--   50126 a schedule of the new name exists already.
--   50127 the schedule is the one of jobs.sp_add_job, and more than its parameters is given.
--   50159 a required parameter is missing.
--   50160 the job declares no parameter of this name.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_update_schedule
    @job_name         NVARCHAR(129),
    @schedule_name    NVARCHAR(129),
    @new_name         NVARCHAR(129) = NULL,
    @kind             NVARCHAR(21) = NULL,
    @spec             NVARCHAR(MAX) = NULL,
    @time_zone        NVARCHAR(129) = NULL,
    @catch_up         NVARCHAR(51) = NULL,
    @overlap          NVARCHAR(21) = NULL,
    @pause_on_failure BIT = NULL,
    @enabled          BIT = NULL,
    @parameters       NVARCHAR(MAX) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_schedule
        @mode = N'Update',
        @job_name = @job_name,
        @schedule_name = @schedule_name,
        @new_name = @new_name,
        @kind = @kind,
        @spec = @spec,
        @time_zone = @time_zone,
        @catch_up = @catch_up,
        @overlap = @overlap,
        @pause_on_failure = @pause_on_failure,
        @enabled = @enabled,
        @parameters = @parameters;
    RETURN 0;
END;
