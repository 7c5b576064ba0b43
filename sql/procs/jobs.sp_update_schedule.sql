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
--   50069 a value does not have the declared type, or is none of the choices.
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
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @payload_id BIGINT;
    DECLARE @complete NVARCHAR(MAX);
    DECLARE @run_payload_id BIGINT;
    DECLARE @number INT;
    DECLARE @fault NVARCHAR(2048);
    DECLARE @cause NVARCHAR(20);
    DECLARE @defined BIT; -- 1: kind or text changes
    DECLARE @moved BIT;   -- 1: the zone changes
    DECLARE @changed BIT; -- 1: the schedule is restarted
    DECLARE @differs BIT; -- 1: anything changes
    DECLARE @old_kind NVARCHAR(20), @old_spec NVARCHAR(MAX), @old_zone NVARCHAR(128), @old_catch_up NVARCHAR(50), @old_enabled BIT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@schedule_name) > 256
        THROW 50097, N'Invalid @schedule_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@new_name) > 256
        THROW 50097, N'Invalid @new_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@kind) > 40
        THROW 50097, N'Invalid @kind: want at most 20 characters, not 21 or more.', 1;
    IF DATALENGTH(@time_zone) > 256
        THROW 50097, N'Invalid @time_zone: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@catch_up) > 100
        THROW 50097, N'Invalid @catch_up: want at most 50 characters, not 51 or more.', 1;
    IF DATALENGTH(@overlap) > 40
        THROW 50097, N'Invalid @overlap: want at most 20 characters, not 21 or more.', 1;

    IF @new_name IS NOT NULL AND LTRIM(@new_name) = N''
        THROW 50047, N'Missing schedule name: @new_name is empty.', 1;
    EXECUTE jobs_internal.check_name @name = @new_name, @parameter = N'@new_name';
    EXECUTE jobs_internal.check_parameters @parameters = @parameters;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_schedule
        @job_name = @job_name,
        @schedule_name = @schedule_name,
        @job_id = @job_id OUTPUT,
        @schedule_id = @schedule_id OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    EXECUTE jobs_internal.state_of_schedule
        @job_id = @job_id,
        @schedule_id = @schedule_id,
        @state = @audit_before OUTPUT,
        @revision = @revision_before OUTPUT;
    IF @schedule_name = N'' AND (
        @parameters IS NULL
        OR COALESCE(@new_name, @kind, @spec, @time_zone, @catch_up, @overlap) IS NOT NULL
        OR @pause_on_failure IS NOT NULL
        OR @enabled IS NOT NULL
    )
        THROW 50127, N'The schedule of the job''s own definition has no text. Change all but its @parameters with jobs.sp_update_job.', 1;
    -- payload_id is what was given: a later default applies to later runs. The schedule of jobs.sp_add_job may be without parameters,
    -- because it may never be enabled.
    IF @schedule_name = N'' AND LTRIM(@parameters) = N''
        EXECUTE jobs_internal.complete_parameters
            @job_id = @job_id,
            @job_name = NULL,
            @parameters = @parameters,
            @complete = @complete OUTPUT,
            @number = @number OUTPUT,
            @fault = @fault OUTPUT;
    ELSE IF @parameters IS NOT NULL
        EXECUTE jobs_internal.require_parameters
            @job_id = @job_id,
            @job_name = @job_name,
            @parameters = @parameters,
            @complete = @complete OUTPUT;
    IF @fault IS NULL
        EXECUTE jobs_internal.store_payload @parameters = @complete, @payload_id = @run_payload_id OUTPUT;
    EXECUTE jobs_internal.store_payload @parameters = @parameters, @payload_id = @payload_id OUTPUT;
    IF @schedule_name = N''
    BEGIN
        UPDATE s
        SET s.payload_id = @payload_id,
            s.run_payload_id = NULLIF(@run_payload_id, @payload_id),
            s.parameters_fault = @fault,
            s.updated_at = @now
        FROM jobs_internal.schedules AS s
        WHERE s.schedule_id = @schedule_id
            AND COALESCE(s.payload_id, 0) <> COALESCE(@payload_id, 0);
        IF @@ROWCOUNT > 0
            EXECUTE jobs_internal.raise_revision @job_id = @job_id;
        EXECUTE jobs_internal.state_of_schedule
            @job_id = @job_id,
            @schedule_id = @schedule_id,
            @state = @audit_after OUTPUT,
            @revision = @revision_after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_update_schedule',
            @object_kind = N'Schedule',
            @object_id = @schedule_id,
            @job_id = @job_id,
            @job_name = @job_name,
            @before = @audit_before,
            @after = @audit_after,
            @revision_before = @revision_before,
            @revision_after = @revision_after,
            @now = @now;
        COMMIT TRANSACTION;
        RETURN 0;
    END;

    SELECT
        @old_kind = s.kind,
        @old_spec = s.spec,
        @old_zone = s.time_zone,
        @old_catch_up = s.catch_up,
        @old_enabled = s.enabled
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id;

    SET @kind = COALESCE(@kind, @old_kind);
    SET @spec = COALESCE(@spec, @old_spec);
    SET @time_zone = NULLIF(LTRIM(COALESCE(@time_zone, @old_zone)), N'');
    SET @catch_up = NULLIF(LTRIM(COALESCE(@catch_up, @old_catch_up)), N'');
    SET @enabled = COALESCE(@enabled, @old_enabled);
    EXECUTE jobs_internal.check_schedule_text @kind = @kind OUTPUT, @spec = @spec;
    IF @overlap IS NOT NULL
        EXECUTE jobs_internal.check_overlap @overlap = @overlap OUTPUT, @kind = @kind;

    IF @new_name IS NOT NULL
    BEGIN
        -- index: UQ_schedules_name, in which other sessions may add the same name
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
            WHERE s.job_id = @job_id
                AND s.name = @new_name
                AND s.schedule_id <> @schedule_id
        )
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The schedule ''', @schedule_name, N''' cannot be renamed: the job ''', @job_name, N''' has one named ''', @new_name,
                N''' already.'
            ), N'%', N'%%');
            THROW 50126, @message, 1;
        END;
    END;

    -- Compared exactly: an agent accepts Europe/Berlin but not europe/berlin, which the collation may treat as equal.
    SET @defined = CASE WHEN @kind <> @old_kind OR CAST(@spec AS VARBINARY(MAX)) <> CAST(@old_spec AS VARBINARY(MAX)) THEN 1 ELSE 0 END;
    SET @moved = CASE
        WHEN CAST(COALESCE(@time_zone, N'') AS VARBINARY(256)) <> CAST(COALESCE(@old_zone, N'') AS VARBINARY(256)) THEN 1
        ELSE 0
    END;
    SET @changed = CASE
        WHEN @defined = 1
            OR @moved = 1
            OR CAST(COALESCE(@catch_up, N'') AS VARBINARY(100)) <> CAST(COALESCE(@old_catch_up, N'') AS VARBINARY(100))
            OR @enabled <> @old_enabled THEN 1
        ELSE 0
    END;

    SET @differs = CASE
        WHEN @changed = 1 OR EXISTS (
            SELECT 1
            FROM jobs_internal.schedules AS s
            WHERE s.schedule_id = @schedule_id
                AND (CAST(@new_name AS VARBINARY(256)) <> CAST(s.name AS VARBINARY(256))
                    OR @overlap <> s.overlap
                    OR @pause_on_failure <> s.pause_on_failure
                    OR (@parameters IS NOT NULL AND COALESCE(@payload_id, 0) <> COALESCE(s.payload_id, 0)))
        ) THEN 1
        ELSE 0
    END;
    UPDATE s
    SET s.name = COALESCE(@new_name, s.name),
        s.kind = @kind,
        s.spec = @spec,
        s.time_zone = @time_zone,
        s.catch_up = @catch_up,
        s.overlap = COALESCE(@overlap, s.overlap),
        s.pause_on_failure = COALESCE(@pause_on_failure, s.pause_on_failure),
        s.payload_id = CASE WHEN @parameters IS NULL THEN s.payload_id ELSE @payload_id END,
        s.run_payload_id = CASE WHEN @parameters IS NULL THEN s.run_payload_id ELSE NULLIF(@run_payload_id, @payload_id) END,
        s.parameters_fault = CASE WHEN @parameters IS NULL THEN s.parameters_fault END,
        s.enabled = @enabled,
        s.next_due_at = CASE WHEN @changed = 1 THEN NULL ELSE s.next_due_at END,
        s.next_fire_at = CASE WHEN @changed = 1 THEN NULL ELSE s.next_fire_at END,
        s.counted_from = CASE WHEN @defined = 1 THEN s.executions ELSE s.counted_from END,
        s.defined_at = CASE WHEN @defined = 1 THEN @now ELSE s.defined_at END,
        s.updated_at = @now
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id
        AND @differs = 1;

    IF @defined = 1 OR @moved = 1
        UPDATE f
        SET f.state = N'Canceled',
            f.reason = N'The schedule was changed.',
            f.next_at = NULL,
            f.ended_at = @now
        FROM jobs_internal.schedule_backfills AS f
        WHERE f.schedule_id = @schedule_id
            AND f.state = N'Open';
    IF @changed = 1
    BEGIN
        SET @cause = CASE WHEN @enabled = 0 AND @old_enabled = 1 THEN N'Disabled' ELSE N'Changed' END;
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = @cause, @now = @now;
    END;
    IF @differs = 1
        EXECUTE jobs_internal.raise_revision @job_id = @job_id;

    EXECUTE jobs_internal.state_of_schedule
        @job_id = @job_id,
        @schedule_id = @schedule_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_update_schedule',
        @object_kind = N'Schedule',
        @object_id = @schedule_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @revision_before = @revision_before,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
