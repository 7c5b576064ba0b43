-- Deletes a schedule with its backfills. Runs that it has started continue; instants that wait for one of them are
-- recorded as skipped.
--
-- Parameters:
--   @job_name       Name of the job.
--   @schedule_name  Name of the schedule. The schedule of jobs.sp_add_job is deleted only with its job.
-- Called by: members of the role jobs_author.
-- Locks:     the job's row (U), the schedule's row (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50046 the schedule name is NULL.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50125 the schedule does not exist.
--   50127 the schedule is the one of jobs.sp_add_job.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_delete_schedule
    @job_name      NVARCHAR(129),
    @schedule_name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@schedule_name) > 256
        THROW 50097, N'Invalid @schedule_name: want at most 128 characters, not 129 or more.', 1;

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
    IF @schedule_name = N''
        THROW 50127, N'The schedule of the job''s own definition cannot be deleted. Disable it with jobs.sp_update_job @enabled = 0.', 1;

    EXECUTE jobs_internal.skip_buffered @schedule_id = @schedule_id, @cause = N'Deleted', @now = @now;
    DELETE s
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id;
    EXECUTE jobs_internal.raise_revision @job_id = @job_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_schedule',
        @object_kind = N'Schedule',
        @object_id = @schedule_id,
        @job_id = @job_id,
        @job_name = @job_name,
        @before = @audit_before,
        @revision_before = @revision_before,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
