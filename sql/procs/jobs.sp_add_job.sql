-- Adds a job without steps; its version is 0. The first step makes it version 1.
--
-- Parameters:
--   @job_name                 Name; unique among jobs; must not contain %.
--   @description              Free text; NULL is stored as empty text.
--   @enabled                  1: the schedule starts runs. 0: only sp_start_job starts runs.
--   @schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months, in any case.
--   @schedule_interval_count  Units between two runs; at least 1.
--   @schedule_start_time      Earliest time at which a run may begin (UTC). The default, in the year 1, means at once.
--   @schedule_end_time        Time after which no run may begin (UTC).
--   @job_id                   Receives the new id.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in jobs (U); then inserts into jobs, job_versions, schedules; an insert
--            into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50004 the schedule interval type is invalid.
--   50005 the schedule interval count is below 1.
--   50006 the schedule ends before it starts.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50101 a job of this name exists already.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_job
    @job_name                NVARCHAR(129),
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = 0,
    @schedule_interval_type  NVARCHAR(51) = N'Once',
    @schedule_interval_count INT = 1,
    @schedule_start_time     DATETIME2 = '0001-01-01 00:00:00.0000000',
    @schedule_end_time       DATETIME2 = '9999-12-31 11:59:59.0000000',
    @job_id                  UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @schedule_id BIGINT;
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@description) > 1024
        THROW 50097, N'Invalid @description: want at most 512 characters, not 513 or more.', 1;
    IF DATALENGTH(@schedule_interval_type) > 100
        THROW 50097, N'Invalid @schedule_interval_type: want at most 50 characters, not 51 or more.', 1;

    EXECUTE jobs_internal.check_job_name @job_name = @job_name;
    EXECUTE jobs_internal.check_name @name = @job_name, @parameter = N'@job_name';

    SET @enabled = COALESCE(@enabled, 0);
    SET @schedule_interval_type = COALESCE(@schedule_interval_type, N'Once');
    SET @schedule_interval_count = COALESCE(@schedule_interval_count, 1);
    SET @schedule_start_time = COALESCE(@schedule_start_time, '0001-01-01T00:00:00');
    SET @schedule_end_time = COALESCE(@schedule_end_time, '9999-12-31T11:59:59');
    EXECUTE jobs_internal.check_schedule
        @interval_type = @schedule_interval_type OUTPUT,
        @interval_count = @schedule_interval_count,
        @start_time = @schedule_start_time,
        @end_time = @schedule_end_time;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- index: UQ_jobs_name, in which other sessions may add the same name
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
        WHERE j.name = @job_name
            AND j.deleted_at IS NULL
    )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A job named ''', @job_name, N''' exists already. Choose another name, or change it with jobs.sp_update_job.'
        ), N'%', N'%%');
        THROW 50101, @message, 1;
    END;

    SET @job_id = NEWID();
    INSERT INTO jobs_internal.jobs (job_id, name, description, created_at)
    VALUES (@job_id, @job_name, COALESCE(@description, N''), @now);
    INSERT INTO jobs_internal.job_versions (job_id, version, created_at)
    VALUES (@job_id, 0, @now);
    INSERT INTO jobs_internal.schedules (
        job_id, name, kind, interval_type, interval_count, start_time, end_time, enabled, created_at, updated_at
    )
    VALUES (
        @job_id, N'', N'elastic', @schedule_interval_type, @schedule_interval_count, @schedule_start_time,
        @schedule_end_time, @enabled, @now, @now
    );
    IF @enabled = 1
    BEGIN
        SET @schedule_id = SCOPE_IDENTITY();
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @now = @now;
    END;

    EXECUTE jobs_internal.state_of_job @job_id = @job_id, @state = @audit_after OUTPUT, @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_job',
        @object_kind = N'Job',
        @object_id = @job_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
