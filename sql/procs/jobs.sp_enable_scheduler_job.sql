-- Enables or disables a job of a job collection. Instants that were due before are dropped.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @job_name             Name of the job within the collection.
--   @enabled              1: enable. 0: disable.
--   @if_match             The revision that the job must have; -1: it must exist. NULL: nothing is expected.
-- Called by: members of the role jobs_operator.
-- Locks:     the rows in job_collections (U), jobs (U), schedules (U, X), schedule_buffer (X).
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50164 the job collection does not exist.
--   50165 the job collection has no job of this name.
--   50167 the job is Completed or Faulted.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_enable_scheduler_job
    @job_collection_name NVARCHAR(201),
    @job_name            NVARCHAR(201),
    @enabled             BIT = 1,
    @if_match            BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @new_revision BIGINT;
    DECLARE @revision BIGINT;
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @collection_state NVARCHAR(10);
    DECLARE @full_name NVARCHAR(128);
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @schedule_id BIGINT;
    DECLARE @state NVARCHAR(20);

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@job_name) > 400
        THROW 50097, N'Invalid @job_name: want at most 200 characters, not 201 or more.', 1;

    SET @enabled = COALESCE(@enabled, 1);
    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_scheduler_job
        @job_collection_name = @job_collection_name,
        @job_name = @job_name,
        @collection_id = @collection_id OUTPUT,
        @collection_state = @collection_state OUTPUT,
        @full_name = @full_name OUTPUT,
        @job_id = @job_id OUTPUT,
        @schedule_id = @schedule_id OUTPUT,
        @state = @state OUTPUT,
        @revision = @revision OUTPUT;
    SET @object = CONCAT(N'The job ''', @full_name, N'''');
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF @state IN (N'Completed', N'Faulted')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @full_name, N''' is ', @state, N', which is final. Delete it, and create it again.'
        ), N'%', N'%%');
        THROW 50167, @message, 1;
    END;
    EXECUTE jobs_internal.audit_collection @job_id = @job_id, @state = @before OUTPUT;
    UPDATE s
    SET s.enabled = @enabled,
        s.next_due_at = NULL,
        s.next_fire_at = NULL
    FROM jobs_internal.schedules AS s
    WHERE s.schedule_id = @schedule_id
        AND s.enabled <> @enabled;
    IF @@ROWCOUNT > 0
    BEGIN
        EXECUTE jobs_internal.raise_revision @job_id = @job_id, @revision = @new_revision OUTPUT;
        EXECUTE jobs_internal.activate_schedule @schedule_id = @schedule_id, @cause = N'Disabled', @now = @now;
        EXECUTE jobs_internal.audit_collection @job_id = @job_id, @state = @after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_enable_scheduler_job',
            @object_kind = N'Job',
            @object_name = @full_name,
            @object_id = @job_id,
            @job_id = @job_id,
            @before = @before,
            @after = @after,
            @revision_before = @revision,
            @revision_after = @new_revision,
            @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
