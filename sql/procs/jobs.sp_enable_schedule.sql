-- Enables or disables a schedule. Instants that were due before are dropped. A call that changes nothing has no effect,
-- except that enabling a Completed or Faulted schedule requests a new validation. A paused schedule stays paused.
--
-- Parameters:
--   @job_name       Name of the job.
--   @schedule_name  Name of the schedule; N'' is the schedule of jobs.sp_add_job.
--   @enabled        1: due instants become runs.
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
CREATE OR ALTER PROCEDURE jobs.sp_enable_schedule
    @job_name      NVARCHAR(129),
    @schedule_name NVARCHAR(129),
    @enabled       BIT = 1
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
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@job_name) > 256
        THROW 50097, N'Invalid @job_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@schedule_name) > 256
        THROW 50097, N'Invalid @schedule_name: want at most 128 characters, not 129 or more.', 1;

    SET @enabled = COALESCE(@enabled, 1);
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

    UPDATE s
    SET s.enabled = @enabled,
        s.next_due_at = NULL,
        s.next_fire_at = NULL
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id
        AND (s.enabled <> @enabled OR (@enabled = 1 AND s.name <> N'' AND s.state IN (N'Completed', N'Faulted')));
    IF @@ROWCOUNT > 0
    BEGIN
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = N'Disabled', @now = @now;
        EXECUTE jobs_internal.raise_revision @job_id = @job_id;
    END;

    EXECUTE jobs_internal.state_of_schedule
        @job_id = @job_id,
        @schedule_id = @schedule_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_enable_schedule',
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
