-- Creates a job, or replaces the description and schedule of an existing one: what is omitted gets its default. Setting the same
-- values again changes nothing and does not start the schedule anew. The errors of sp_add_job and sp_update_job are errors of this
-- procedure, too.
--
-- Parameters:
--   @job_name                 Name of the job. An existing job keeps its spelling.
--   @description              Free text; NULL: empty.
--   @enabled                  1: the schedule starts runs. 0 or NULL: only sp_start_job starts runs.
--   @schedule_interval_type   Once, Minutes, Hours, Days, Weeks or Months, in any case; NULL: Once.
--   @schedule_interval_count  Units between two runs; NULL: 1.
--   @schedule_start_time      Earliest time at which a run may begin (UTC); NULL: 0001-01-01.
--   @schedule_end_time        Time after which no run may begin (UTC); NULL: 9999-12-31T11:59:59.
--   @if_match                 The job's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @job_id                   Receives its id.
--   @created                  Receives 1 if the job is new.
--   @revision                 Receives its revision.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in jobs (U), the job's row (U, X), the job's schedule (X).
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_set_job
    @job_name                NVARCHAR(129),
    @description             NVARCHAR(513) = NULL,
    @enabled                 BIT = NULL,
    @schedule_interval_type  NVARCHAR(51) = NULL,
    @schedule_interval_count INT = NULL,
    @schedule_start_time     DATETIME2 = NULL,
    @schedule_end_time       DATETIME2 = NULL,
    @if_match                BIGINT = NULL,
    @job_id                  UNIQUEIDENTIFIER = NULL OUTPUT,
    @created                 BIT = NULL OUTPUT,
    @revision                BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @object NVARCHAR(400) = CONCAT(N'The job ''', @job_name, N'''');

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@description) > 1024
        THROW 50097, N'Invalid @description: want at most 512 characters, not 513 or more.', 1;
    IF DATALENGTH(@schedule_interval_type) > 100
        THROW 50097, N'Invalid @schedule_interval_type: want at most 50 characters, not 51 or more.', 1;

    EXECUTE jobs_internal.check_job_name @job_name = @job_name;
    SET @description = COALESCE(@description, N'');
    SET @enabled = COALESCE(@enabled, 0);
    SET @schedule_interval_type = COALESCE(@schedule_interval_type, N'Once');
    SET @schedule_interval_count = COALESCE(@schedule_interval_count, 1);
    SET @schedule_start_time = COALESCE(@schedule_start_time, '0001-01-01T00:00:00');
    SET @schedule_end_time = COALESCE(@schedule_end_time, '9999-12-31T11:59:59');
    SET @created = 1;
    SET @revision = NULL;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    -- revision is in no index, so that the lock is on the clustered key, and on the name, which other sessions may add.
    SELECT
        @created = 0,
        @job_id = j.job_id,
        @revision = j.revision
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
    WHERE j.name = @job_name
        AND j.deleted_at IS NULL;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF @created = 1
        EXECUTE jobs.sp_add_job
            @job_name = @job_name,
            @description = @description,
            @enabled = @enabled,
            @schedule_interval_type = @schedule_interval_type,
            @schedule_interval_count = @schedule_interval_count,
            @schedule_start_time = @schedule_start_time,
            @schedule_end_time = @schedule_end_time,
            @job_id = @job_id OUTPUT;
    ELSE
        EXECUTE jobs.sp_update_job
            @job_name = @job_name,
            @description = @description,
            @enabled = @enabled,
            @schedule_interval_type = @schedule_interval_type,
            @schedule_interval_count = @schedule_interval_count,
            @schedule_start_time = @schedule_start_time,
            @schedule_end_time = @schedule_end_time;
    SELECT @revision = j.revision
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;

    COMMIT TRANSACTION;
    RETURN 0;
END;
