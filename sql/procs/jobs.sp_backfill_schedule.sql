-- Requests runs for a schedule's due instants in a past range. An agent starts them within a second, in order. Instants
-- that have a run already are not run again; instants recorded as skipped are run. The schedule may be disabled or
-- paused, and its next due instant does not change. A run of a backfill is one of the schedule's executions but does
-- not count toward the count in its text (D-P3).
--
-- Parameters:
--   @job_name       Name of the job.
--   @schedule_name  Name of the schedule; N'' is the schedule of jobs.sp_add_job.
--   @from           First instant of the range (UTC), inclusive.
--   @to             Last instant of the range (UTC), inclusive; not in the future.
--   @overlap        Overlap policy of these runs, independent of the schedule's (D-P6): Skip, BufferOne, BufferAll,
--                   CancelOther, TerminateOther, AllowAll or Elastic, in any case; NULL or empty: BufferAll, so that
--                   all of them run, one after the other.
--   @backfill_id    Receives the id of the request: see the view jobs.schedule_backfills.
-- Called by: members of the role jobs_operator.
-- Locks:     the job's row (U), the schedule's row (U); then an insert into schedule_backfills; an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50046 the schedule name is NULL.
--   50050 the overlap policy is invalid.
--   50051 the range of the backfill is missing, or ends before it starts.
--   50052 the range of the backfill ends in the future.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50125 the schedule does not exist.
--   50128 the schedule is Faulted.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_backfill_schedule
    @job_name      NVARCHAR(129),
    @schedule_name NVARCHAR(129),
    @from          DATETIME2(7),
    @to            DATETIME2(7),
    @overlap       NVARCHAR(21) = NULL,
    @backfill_id   BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @state NVARCHAR(20);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@schedule_name) > 256
        THROW 50097, N'Invalid @schedule_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@overlap) > 40
        THROW 50097, N'Invalid @overlap: want at most 20 characters, not 21 or more.', 1;

    IF @from IS NULL OR @to IS NULL OR @to < @from
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid range: want @from (', CONVERT(NVARCHAR(33), @from, 126), N') not later than @to (',
            CONVERT(NVARCHAR(33), @to, 126), N').'
        ), N'%', N'%%');
        THROW 50051, @message, 1;
    END;
    IF @to > @now
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @to ', CONVERT(NVARCHAR(33), @to, 126),
            N': want a time in UTC that is not in the future. The schedule itself runs future instants.'
        ), N'%', N'%%');
        THROW 50052, @message, 1;
    END;
    EXECUTE jobs_internal.check_overlap @overlap = @overlap OUTPUT;
    SET @overlap = COALESCE(@overlap, N'BufferAll');

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_schedule
        @job_name = @job_name,
        @schedule_name = @schedule_name,
        @job_id = @job_id OUTPUT,
        @schedule_id = @schedule_id OUTPUT;

    SELECT @state = s.state
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id;
    IF @state = N'Faulted'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The schedule ''', @schedule_name, N''' of the job ''', @job_name,
            N''' is Faulted. Correct its text with jobs.sp_update_schedule first.'
        ), N'%', N'%%');
        THROW 50128, @message, 1;
    END;

    INSERT INTO jobs_internal.schedule_backfills (schedule_id, from_at, to_at, overlap, requested_by, requested_at)
    VALUES (@schedule_id, @from, @to, @overlap, @by, @now);
    SET @backfill_id = SCOPE_IDENTITY();

    SET @audit_after = (
        SELECT b.schedule_id, b.from_at, b.to_at, b.overlap
        FROM jobs_internal.schedule_backfills AS b
        WHERE b.backfill_id = @backfill_id
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_backfill_schedule',
        @object_kind = N'Backfill',
        @object_name = @schedule_name,
        @object_id = @backfill_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
