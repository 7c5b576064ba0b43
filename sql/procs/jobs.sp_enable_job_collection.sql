-- Enables or disables a job collection. Disabling pauses the schedules of its jobs, with the note collection; enabling resumes those
-- that were paused so, and no others. Active runs continue.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @enabled              1: enable. 0: disable.
--   @if_match             The revision that the collection must have; -1: it must exist. NULL: nothing is expected.
-- Called by: members of the role jobs_operator.
-- Locks:     the row in job_collections (U, X), its rows of jobs (U), schedules (U, X) and schedule_buffer (X).
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50164 the job collection does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_enable_job_collection
    @job_collection_name NVARCHAR(201),
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
    DECLARE @object NVARCHAR(400);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @new_revision BIGINT;
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @state NVARCHAR(10);
    DECLARE @old_state NVARCHAR(10);
    DECLARE @revision BIGINT;
    DECLARE @paused BIT;

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;

    SET @state = CASE WHEN @enabled = 0 THEN N'Disabled' ELSE N'Enabled' END;
    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job_collection
        @job_collection_name = @job_collection_name,
        @collection_id = @collection_id OUTPUT,
        @state = @old_state OUTPUT,
        @revision = @revision OUTPUT;
    SET @object = CONCAT(N'The job collection ''', @job_collection_name, N'''');
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF @state <> @old_state
    BEGIN
        EXECUTE jobs_internal.audit_collection @collection_id = @collection_id, @state = @before OUTPUT;
        SET @new_revision = @revision + 1;
        UPDATE c
        SET c.state = @state,
            c.revision = @new_revision,
            c.updated_at = @now
        FROM jobs_internal.job_collections AS c
        WHERE c.collection_id = @collection_id;
        SET @paused = CASE WHEN @state = N'Disabled' THEN 1 ELSE 0 END;
        EXECUTE jobs_internal.pause_collection_jobs @collection_id = @collection_id, @paused = @paused, @now = @now;
        EXECUTE jobs_internal.audit_collection @collection_id = @collection_id, @state = @after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_enable_job_collection',
            @object_kind = N'JobCollection',
            @object_name = @job_collection_name,
            @object_id = @collection_id,
            @before = @before,
            @after = @after,
            @revision_before = @revision,
            @revision_after = @new_revision,
            @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
