-- Adds a job, or changes one: the writer behind jobs.sp_add_job, jobs.sp_update_job and jobs.sp_set_job. Setting the same values again
-- changes nothing, and does not start the schedule anew. The job's version does not change.
--
-- What a mode does with a job, and with parameters that are NULL:
--   Add     the job is new; they get their defaults
--   Update  the job exists; they stay
--   Set     the job is new or exists; they get their defaults
--
-- Parameters: those of the callers, and
--   @mode      Add, Update or Set.
--   @if_match  The job's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @created   Receives 1 if the job is new.
--   @revision  Receives its revision.
-- Called by: jobs.sp_add_job, jobs.sp_update_job, jobs.sp_set_job. It has the transaction.
-- Locks:     the range of the name in jobs (U), the job's row (U, X), the range of the new name (U), the job's schedule (U, X); inserts
--            into jobs, job_versions, schedules, audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_job
    @mode                    NVARCHAR(10),
    @job_name                NVARCHAR(129),
    @new_name                NVARCHAR(129) = NULL,
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = NULL,
    @schedule_interval_type  NVARCHAR(51) = NULL,
    @schedule_interval_count INT = NULL,
    @schedule_start_time     DATETIME2(7) = NULL,
    @schedule_end_time       DATETIME2(7) = NULL,
    @if_match                BIGINT = NULL,
    @job_id                  UNIQUEIDENTIFIER = NULL OUTPUT,
    @created                 BIT = NULL OUTPUT,
    @revision                BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The job ''', @job_name, N'''');
    DECLARE @other_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @cause NVARCHAR(20);
    DECLARE @old_enabled BIT, @old_type NVARCHAR(50), @old_count INT, @old_start DATETIME2(7), @old_end DATETIME2(7);
    DECLARE @action NVARCHAR(128);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@new_name) > 256
        THROW 50097, N'Invalid @new_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@description) > 1024
        THROW 50097, N'Invalid @description: want at most 512 characters, not 513 or more.', 1;
    IF DATALENGTH(@schedule_interval_type) > 100
        THROW 50097, N'Invalid @schedule_interval_type: want at most 50 characters, not 51 or more.', 1;

    IF @mode <> N'Update'
        EXECUTE jobs_internal.check_job_name @job_name = @job_name;
    ELSE IF @new_name IS NOT NULL
    BEGIN
        EXECUTE jobs_internal.check_job_name @job_name = @new_name, @parameter = N'@new_name';
        EXECUTE jobs_internal.check_name @name = @new_name, @parameter = N'@new_name';
    END;

    BEGIN TRANSACTION;

    SET @job_id = NULL;
    SET @revision = NULL;
    IF @mode = N'Update'
    BEGIN
        -- Names are locked in their order: two sessions that swap the names of two jobs would otherwise wait for each other.
        IF @new_name < @job_name
            -- index: UQ_jobs_name, in which other sessions may add the same name
            SELECT @other_id = j.job_id
            FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_jobs_name (name)))
            WHERE j.name = @new_name
                AND j.deleted_at IS NULL;
        EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @revision = @revision OUTPUT;
    END
    ELSE
    BEGIN
        EXECUTE jobs_internal.check_job_agent;
        -- revision is in no index, so that the lock is on the clustered key, and on the name, which other sessions may add.
        SELECT
            @job_id = j.job_id,
            @revision = j.revision
        FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_jobs_name (name)))
        WHERE j.name = @job_name
            AND j.deleted_at IS NULL;
    END;
    SET @created = CASE WHEN @job_id IS NULL THEN 1 ELSE 0 END;
    IF @created = 1 OR @mode = N'Add'
        EXECUTE jobs_internal.check_name @name = @job_name, @parameter = N'@job_name';
    IF @mode = N'Add' AND @created = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A job named ''', @job_name, N''' exists already. Choose another name, or change it with jobs.sp_update_job.'
        ), N'%', N'%%');
        THROW 50101, @message, 1;
    END;

    IF @mode <> N'Add'
    BEGIN
        EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
        EXECUTE jobs_internal.check_no_collection @job_id = @job_id, @job_name = @job_name;
        IF @created = 0
            EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_before OUTPUT, @revision = @revision_before OUTPUT;
        IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = @job_id)
        BEGIN
            IF @mode = N'Set'
                OR COALESCE(@new_name, @description, @schedule_interval_type) IS NOT NULL
                OR COALESCE(@schedule_start_time, @schedule_end_time) IS NOT NULL
                OR @schedule_interval_count IS NOT NULL
                EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
            EXECUTE jobs_internal.enable_rest_job @job_id = @job_id, @enabled = @enabled, @now = @now;
            SET @enabled = NULL; -- the schedule of jobs.sp_add_job stays disabled
        END;
    END;
    IF @new_name IS NOT NULL
    BEGIN
        -- index: UQ_jobs_name, in which other sessions may add the same name
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_jobs_name (name)))
            WHERE j.name = @new_name
                AND j.deleted_at IS NULL
                AND j.job_id <> @job_id
        )
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The job ''', @job_name, N''' cannot be renamed: a job named ''', @new_name, N''' exists already.'
            ), N'%', N'%%');
            THROW 50101, @message, 1;
        END;
    END;

    IF @created = 0
        SELECT
            @schedule_id = s.schedule_id,
            @old_enabled = s.enabled,
            @old_type = s.interval_type,
            @old_count = s.interval_count,
            @old_start = s.start_time,
            @old_end = s.end_time
        FROM jobs_internal.schedules AS s WITH (UPDLOCK)
        WHERE s.job_id = @job_id
            AND s.name = N'';
    IF @mode = N'Update'
        SELECT
            @enabled = COALESCE(@enabled, @old_enabled),
            @schedule_interval_type = COALESCE(@schedule_interval_type, @old_type),
            @schedule_interval_count = COALESCE(@schedule_interval_count, @old_count),
            @schedule_start_time = COALESCE(@schedule_start_time, @old_start),
            @schedule_end_time = COALESCE(@schedule_end_time, @old_end);
    ELSE
        SELECT
            @description = COALESCE(@description, N''),
            @enabled = COALESCE(@enabled, 0),
            @schedule_interval_type = COALESCE(@schedule_interval_type, N'Once'),
            @schedule_interval_count = COALESCE(@schedule_interval_count, 1),
            @schedule_start_time = COALESCE(@schedule_start_time, '0001-01-01T00:00:00'),
            @schedule_end_time = COALESCE(@schedule_end_time, '9999-12-31T11:59:59');
    EXECUTE jobs_internal.check_schedule
        @interval_type = @schedule_interval_type OUTPUT,
        @interval_count = @schedule_interval_count,
        @start_time = @schedule_start_time,
        @end_time = @schedule_end_time;

    IF @created = 1
    BEGIN
        SET @job_id = NEWID();
        INSERT INTO jobs_internal.jobs (job_id, name, description, created_at)
        VALUES (@job_id, @job_name, @description, @now);
        INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
        VALUES (@job_id, 0, @now);
        INSERT INTO jobs_internal.schedules (
            job_id, name, kind, interval_type, interval_count, start_time, end_time, enabled, created_at, updated_at
        )
        VALUES (
            @job_id, N'', N'elastic', @schedule_interval_type, @schedule_interval_count, @schedule_start_time, @schedule_end_time, @enabled,
            @now, @now
        );
        IF @enabled = 1
        BEGIN
            SET @schedule_id = SCOPE_IDENTITY();
            EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
        END;
    END
    ELSE
    BEGIN
        -- Compared exactly: the collation may treat different texts as equal.
        UPDATE j
        SET j.name = COALESCE(@new_name, j.name),
            j.description = COALESCE(@description, j.description),
            j.revision = @revision + 1
        FROM jobs_internal.jobs AS j
        WHERE j.job_id = @job_id
            AND (CAST(@new_name AS VARBINARY(256)) <> CAST(j.name AS VARBINARY(256))
                OR CAST(@description AS VARBINARY(1024)) <> CAST(j.description AS VARBINARY(1024)));
        -- Only a change of the schedule is an activation: setting the same values again starts nothing.
        IF @enabled <> @old_enabled
            OR @schedule_interval_type <> @old_type
            OR @schedule_interval_count <> @old_count
            OR @schedule_start_time <> @old_start
            OR @schedule_end_time <> @old_end
        BEGIN
            UPDATE s
            SET s.enabled = @enabled,
                s.next_due_at = NULL,
                s.next_fire_at = NULL,
                s.interval_type = @schedule_interval_type,
                s.interval_count = @schedule_interval_count,
                s.start_time = @schedule_start_time,
                s.end_time = @schedule_end_time
            FROM jobs_internal.schedules AS s
            WHERE s.schedule_id = @schedule_id;
            SET @cause = CASE WHEN @enabled = 1 THEN N'Changed' ELSE N'Disabled' END;
            EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = @cause, @now = @now;
            EXECUTE jobs_internal.raise_revision @job_id = @job_id;
        END;
    END;

    SET @job_name = COALESCE(@new_name, @job_name);
    SET @action = CASE WHEN @created = 1 THEN N'sp_add_job' ELSE N'sp_update_job' END;
    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_after OUTPUT, @revision = @revision OUTPUT;
    EXECUTE jobs_internal.audit
        @action = @action,
        @object_kind = N'Job',
        @object_id = @job_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @after = @audit_after,
        @revision_before = @revision_before,
        @revision_after = @revision,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
