-- Adds a schedule to a job, or changes one: the writer behind jobs.sp_add_schedule and jobs.sp_update_schedule.
--
-- What a mode does with a schedule, and with parameters that are NULL:
--   Add     the schedule is new; they get their defaults
--   Update  the schedule exists; they stay. An empty text means the default
--
-- Parameters: those of the callers, and
--   @mode  Add or Update.
-- Called by: jobs.sp_add_schedule, jobs.sp_update_schedule. It has the transaction.
-- Locks:     the job's row (U), the schedule's row (U, X), the range of the name in schedules (U), the stored parameters (S); an insert
--            into schedules, and into audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_schedule
    @mode             NVARCHAR(10),
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
    @parameters       NVARCHAR(MAX) = NULL,
    @schedule_id      BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @name NVARCHAR(129) = CASE WHEN @mode = N'Add' THEN @schedule_name ELSE @new_name END; -- a name that the job must not have
    DECLARE @parameter NVARCHAR(128) = CASE WHEN @mode = N'Add' THEN N'@schedule_name' ELSE N'@new_name' END;
    DECLARE @job_id UNIQUEIDENTIFIER;
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
    DECLARE @action NVARCHAR(128) = CASE WHEN @mode = N'Add' THEN N'sp_add_schedule' ELSE N'sp_update_schedule' END;
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

    IF @mode = N'Add' AND COALESCE(LTRIM(@schedule_name), N'') = N''
        THROW 50047, N'Missing schedule name: @schedule_name is NULL or empty.', 1;
    IF @mode = N'Update' AND LTRIM(@new_name) = N''
        THROW 50047, N'Missing schedule name: @new_name is empty.', 1;
    EXECUTE jobs_internal.check_name @name = @name, @parameter = @parameter;
    EXECUTE jobs_internal.check_parameters @parameters = @parameters;

    BEGIN TRANSACTION;

    SET @schedule_id = NULL;
    IF @mode = N'Add'
        EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT;
    ELSE
        EXECUTE jobs_internal.lock_schedule
            @job_name = @job_name,
            @schedule_name = @schedule_name,
            @job_id = @job_id OUTPUT,
            @schedule_id = @schedule_id OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    IF @mode = N'Update'
        EXECUTE jobs_internal.state_of_schedule
            @job_id = @job_id,
            @schedule_id = @schedule_id,
            @state = @audit_before OUTPUT,
            @revision = @revision_before OUTPUT;
    IF @mode = N'Update' AND @schedule_name = N'' AND (
        @parameters IS NULL
        OR COALESCE(@new_name, @kind, @spec, @time_zone, @catch_up, @overlap) IS NOT NULL
        OR @pause_on_failure IS NOT NULL
        OR @enabled IS NOT NULL
    )
        THROW 50127, N'The schedule of the job''s own definition has no text. Change all but its @parameters with jobs.sp_update_job.', 1;

    SELECT
        @old_kind = s.kind,
        @old_spec = s.spec,
        @old_zone = s.time_zone,
        @old_catch_up = s.catch_up,
        @old_enabled = s.enabled,
        @kind = COALESCE(@kind, s.kind),
        @spec = COALESCE(@spec, s.spec),
        @time_zone = NULLIF(LTRIM(COALESCE(@time_zone, s.time_zone)), N''),
        @catch_up = NULLIF(LTRIM(COALESCE(@catch_up, s.catch_up)), N''),
        @enabled = COALESCE(@enabled, s.enabled, 1)
    FROM (VALUES (1)) AS o (n)
    LEFT JOIN jobs_internal.schedules AS s ON s.schedule_id = @schedule_id;
    IF @schedule_name <> N''
        EXECUTE jobs_internal.check_schedule_text @kind = @kind OUTPUT, @spec = @spec;
    IF @mode = N'Add' OR @overlap IS NOT NULL
        EXECUTE jobs_internal.check_overlap @overlap = @overlap OUTPUT, @kind = @kind;
    IF @name IS NOT NULL
    BEGIN
        -- index: UQ_schedules_name, in which other sessions may add the same name
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.schedules AS s WITH (UPDLOCK, HOLDLOCK)
            WHERE s.job_id = @job_id
                AND s.name = @name
                AND s.schedule_id <> COALESCE(@schedule_id, 0)
        )
        BEGIN
            SET @message = REPLACE(CASE
                WHEN @mode = N'Add' THEN CONCAT(
                    N'The job ''', @job_name, N''' has a schedule named ''', @schedule_name,
                    N''' already. Choose another name, or change it with jobs.sp_update_schedule.'
                )
                ELSE CONCAT(
                    N'The schedule ''', @schedule_name, N''' cannot be renamed: the job ''', @job_name, N''' has one named ''', @new_name,
                    N''' already.'
                )
            END, N'%', N'%%');
            THROW 50126, @message, 1;
        END;
    END;

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
    ELSE IF @mode = N'Add' OR @parameters IS NOT NULL
        EXECUTE jobs_internal.require_parameters
            @job_id = @job_id,
            @job_name = @job_name,
            @parameters = @parameters,
            @complete = @complete OUTPUT;
    IF @fault IS NULL
        EXECUTE jobs_internal.store_payload @parameters = @complete, @payload_id = @run_payload_id OUTPUT;
    EXECUTE jobs_internal.store_payload @parameters = @parameters, @payload_id = @payload_id OUTPUT;

    IF @mode = N'Add'
    BEGIN
        INSERT INTO jobs_internal.schedules (
            job_id, name, kind, spec, time_zone, catch_up, overlap, pause_on_failure, payload_id, run_payload_id, enabled, created_at,
            updated_at
        )
        VALUES (
            @job_id, @schedule_name, @kind, @spec, @time_zone, @catch_up, @overlap, COALESCE(@pause_on_failure, 0), @payload_id,
            NULLIF(@run_payload_id, @payload_id), @enabled, @now, @now
        );
        SELECT
            @schedule_id = SCOPE_IDENTITY(),
            @changed = 1,
            @differs = 1;
    END
    ELSE
    BEGIN
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
            s.parameters_fault = CASE WHEN @parameters IS NULL THEN s.parameters_fault ELSE @fault END,
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
    END;
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
        @action = @action,
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
