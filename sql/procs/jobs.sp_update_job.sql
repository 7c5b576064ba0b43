-- Changes a job. Omitted or NULL values stay unchanged. The job's version does not change.
--
-- Parameters:
--   @job_name                 Name of the job.
--   @new_name                 New name; unique; must not contain %.
--   @description              Free text.
--   @enabled                  1: the schedule starts runs. 0: only sp_start_job starts runs.
--   @schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months, in any case.
--   @schedule_interval_count  Units between two runs; at least 1.
--   @schedule_start_time      Earliest time at which a run may begin (UTC).
--   @schedule_end_time        Time after which no run may begin (UTC).
--   @if_match                 The job's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U, X), the range of the new name (U), the job's schedule (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name, or the new name, is missing or empty.
--   50002 the new name contains %.
--   50003 the new name is reserved for system jobs.
--   50004 the schedule interval type is invalid.
--   50005 the schedule interval count is below 1.
--   50006 the schedule ends before it starts.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50101 a job of the new name exists already.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_update_job
    @job_name                NVARCHAR(129),
    @new_name                NVARCHAR(129) = NULL,
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = NULL,
    @schedule_interval_type  NVARCHAR(51) = NULL,
    @schedule_interval_count INT = NULL,
    @schedule_start_time     DATETIME2 = NULL,
    @schedule_end_time       DATETIME2 = NULL,
    @if_match                BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @other_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @cause NVARCHAR(20);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The job ''', @job_name, N'''');
    DECLARE @revision BIGINT;
    DECLARE @old_enabled BIT, @old_type NVARCHAR(50), @old_count INT, @old_start DATETIME2(7), @old_end DATETIME2(7);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@new_name) > 256
        THROW 50097, N'Invalid @new_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@description) > 1024
        THROW 50097, N'Invalid @description: want at most 512 characters, not 513 or more.', 1;
    IF DATALENGTH(@schedule_interval_type) > 100
        THROW 50097, N'Invalid @schedule_interval_type: want at most 50 characters, not 51 or more.', 1;

    IF @new_name IS NOT NULL
        EXECUTE jobs_internal.check_job_name @job_name = @new_name, @parameter = N'@new_name';
    EXECUTE jobs_internal.check_name @name = @new_name, @parameter = N'@new_name';

    BEGIN TRANSACTION;

    -- Names are locked in their order: two sessions that swap the names of two jobs would otherwise wait for each other.
    IF @new_name < @job_name
        -- index: UQ_jobs_name, in which other sessions may add the same name
        SELECT @other_id = j.job_id
        FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
        WHERE j.name = @new_name
            AND j.deleted_at IS NULL;
    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @revision = @revision OUTPUT;
    EXECUTE jobs_internal.check_no_collection @job_id = @job_id, @job_name = @job_name;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_before OUTPUT, @revision = @revision_before OUTPUT;

    IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = @job_id)
    BEGIN
        IF COALESCE(@new_name, @description, @schedule_interval_type) IS NOT NULL
            OR COALESCE(@schedule_start_time, @schedule_end_time) IS NOT NULL
            OR @schedule_interval_count IS NOT NULL
            EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
        EXECUTE jobs_internal.enable_rest_job @job_id = @job_id, @enabled = @enabled, @now = @now;
        SET @enabled = NULL; -- the schedule of jobs.sp_add_job stays disabled
    END;

    IF @new_name IS NOT NULL
    BEGIN
        -- index: UQ_jobs_name, in which other sessions may add the same name
        IF EXISTS (
            SELECT 1
            FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
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

    -- Compared exactly: the collation may treat different texts as equal.
    UPDATE j
    SET j.name = COALESCE(@new_name, j.name),
        j.description = COALESCE(@description, j.description),
        j.revision = @revision + 1
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id
        AND (CAST(@new_name AS VARBINARY(256)) <> CAST(j.name AS VARBINARY(256))
            OR CAST(@description AS VARBINARY(1024)) <> CAST(j.description AS VARBINARY(1024)));

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

    SET @enabled = COALESCE(@enabled, @old_enabled);
    SET @schedule_interval_type = COALESCE(@schedule_interval_type, @old_type);
    SET @schedule_interval_count = COALESCE(@schedule_interval_count, @old_count);
    SET @schedule_start_time = COALESCE(@schedule_start_time, @old_start);
    SET @schedule_end_time = COALESCE(@schedule_end_time, @old_end);
    EXECUTE jobs_internal.check_schedule
        @interval_type = @schedule_interval_type OUTPUT,
        @interval_count = @schedule_interval_count,
        @start_time = @schedule_start_time,
        @end_time = @schedule_end_time;

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

    SET @job_name = COALESCE(@new_name, @job_name);
    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_after OUTPUT, @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_update_job',
        @object_kind = N'Job',
        @object_id = @job_id,
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
