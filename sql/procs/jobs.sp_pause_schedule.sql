-- Pauses or resumes a schedule. The login and the note of the latest call are stored, and the time of the latest call that paused or
-- resumed it. Instants that become due while the schedule is paused are dropped; an active run continues. A backfill runs despite a pause.
--
-- Parameters:
--   @job_name       Name of the job.
--   @schedule_name  Name of the schedule; N'' is the schedule of jobs.sp_add_job.
--   @paused         1: pause. 0: resume.
--   @note           The reason, shown in jobs.schedules.
-- Called by: members of the role jobs_operator.
-- Locks:     the job's row (U), the schedule's row (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50046 the schedule name is NULL.
--   50097 a text is longer than its limit.
--   50100 the job does not exist.
--   50125 the schedule does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_pause_schedule
    @job_name      NVARCHAR(129),
    @schedule_name NVARCHAR(129),
    @paused        BIT = 1,
    @note          NVARCHAR(1001) = NULL
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
    DECLARE @old_paused BIT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@schedule_name) > 256
        THROW 50097, N'Invalid @schedule_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@note) > 2000
        THROW 50097, N'Invalid @note: want at most 1000 characters, not 1001 or more.', 1;

    SET @paused = COALESCE(@paused, 1);
    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_schedule
        @job_name = @job_name,
        @schedule_name = @schedule_name,
        @job_id = @job_id OUTPUT,
        @schedule_id = @schedule_id OUTPUT;
    EXECUTE jobs_internal.state_of_schedule
        @job_id = @job_id,
        @schedule_id = @schedule_id,
        @state = @audit_before OUTPUT,
        @revision = @revision_before OUTPUT;

    SELECT @old_paused = s.paused
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id;

    -- Pausing a paused schedule only replaces the note; resuming a schedule that is not paused has no effect.
    IF @paused = 1 OR @old_paused = 1
        UPDATE s
        SET s.paused = @paused,
            s.paused_by = @by,
            s.paused_at = CASE WHEN @paused = 1 AND s.paused = 1 THEN s.paused_at ELSE @now END, -- how long it has been paused
            s.pause_note = @note,
            s.reason = CASE
                WHEN @paused = 1 AND s.enabled = 1 AND s.state = N'Disabled' THEN CONCAT(N'Paused by ', @by, N': ' + @note)
                ELSE s.reason
            END,
            s.next_due_at = NULL,
            s.next_fire_at = NULL
        FROM jobs_internal.schedules AS s
        WHERE s.schedule_id = @schedule_id;
    IF @paused <> @old_paused
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = N'Paused', @now = @now;
    IF @paused = 1 OR @old_paused = 1
        EXECUTE jobs_internal.raise_revision @job_id = @job_id;

    EXECUTE jobs_internal.state_of_schedule
        @job_id = @job_id,
        @schedule_id = @schedule_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_pause_schedule',
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
