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
--   50069 a value does not have the declared type, or is none of the choices.
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
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @payload_id BIGINT;
    DECLARE @complete NVARCHAR(MAX);
    DECLARE @run_payload_id BIGINT;
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@schedule_name) > 256
        THROW 50097, N'Invalid @schedule_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@kind) > 40
        THROW 50097, N'Invalid @kind: want at most 20 characters, not 21 or more.', 1;
    IF DATALENGTH(@time_zone) > 256
        THROW 50097, N'Invalid @time_zone: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@catch_up) > 100
        THROW 50097, N'Invalid @catch_up: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@overlap) > 40
        THROW 50097, N'Invalid @overlap: want at most 20 characters, not 21 or more.', 1;

    IF @schedule_name IS NULL OR LTRIM(@schedule_name) = N''
        THROW 50047, N'Missing schedule name: @schedule_name is NULL or empty.', 1;
    EXECUTE jobs_internal.check_name @name = @schedule_name, @parameter = N'@schedule_name';
    EXECUTE jobs_internal.check_schedule_text @kind = @kind OUTPUT, @spec = @spec;
    EXECUTE jobs_internal.check_overlap @overlap = @overlap OUTPUT, @kind = @kind;
    EXECUTE jobs_internal.check_parameters @parameters = @parameters;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;

    -- index: UQ_schedules_name, in which other sessions may add the same name
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
        WHERE s.job_id = @job_id
            AND s.name = @schedule_name
    )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' has a schedule named ''', @schedule_name,
            N''' already. Choose another name, or change it with jobs.sp_update_schedule.'
        ), N'%', N'%%');
        THROW 50126, @message, 1;
    END;

    -- payload_id is what was given: a later default applies to later runs.
    EXECUTE jobs_internal.require_parameters
        @job_id = @job_id,
        @job_name = @job_name,
        @parameters = @parameters,
        @complete = @complete OUTPUT;
    EXECUTE jobs_internal.store_payload @parameters = @complete, @payload_id = @run_payload_id OUTPUT;
    EXECUTE jobs_internal.store_payload @parameters = @parameters, @payload_id = @payload_id OUTPUT;
    INSERT INTO jobs_internal.schedules (
        job_id, name, kind, spec, time_zone, catch_up, overlap, pause_on_failure, payload_id, run_payload_id, enabled, created_at,
        updated_at
    )
    VALUES (
        @job_id, @schedule_name, @kind, @spec, NULLIF(LTRIM(@time_zone), N''), NULLIF(LTRIM(@catch_up), N''), @overlap,
        COALESCE(@pause_on_failure, 0), @payload_id, NULLIF(@run_payload_id, @payload_id), COALESCE(@enabled, 1), @now, @now
    );
    SET @schedule_id = SCOPE_IDENTITY();
    EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
    EXECUTE jobs_internal.raise_revision @job_id = @job_id;

    EXECUTE jobs_internal.state_of_schedule
        @job_id = @job_id,
        @schedule_id = @schedule_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_schedule',
        @object_kind = N'Schedule',
        @object_id = @schedule_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
