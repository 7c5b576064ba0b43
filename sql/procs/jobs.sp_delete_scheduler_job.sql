-- Deletes a job of a job collection with its history. Active runs are canceled; their agents notice on the next pass.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @job_name             Name of the job within the collection.
--   @if_match             The revision that the job must have; -1: it must exist. NULL: nothing is expected.
-- Called by: members of the role jobs_author.
-- Locks:     the rows in job_collections (U), jobs (U, X), schedules (U, X), schedule_buffer (X), active executions (X).
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50164 the job collection does not exist.
--   50165 the job collection has no job of this name.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_scheduler_job
    @job_collection_name NVARCHAR(201),
    @job_name            NVARCHAR(201),
    @if_match            BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @object NVARCHAR(400);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @job_id UNIQUEIDENTIFIER;
    DECLARE @full_name NVARCHAR(128);
    DECLARE @version INT;
    DECLARE @revision BIGINT;

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;
    IF DATALENGTH(@job_name) > 400
        THROW 50097, N'Invalid @job_name: want at most 200 characters, not 201 or more.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job_collection
        @job_collection_name = @job_collection_name,
        @collection_id = @collection_id OUTPUT;
    SELECT @job_id = s.job_id
    FROM jobs_internal.scheduler_jobs AS s
    WHERE s.collection_id = @collection_id
        AND s.name = @job_name;
    -- current_version is in no index, so that the lock is on the clustered key, where firings and passes look for it.
    SELECT
        @full_name = j.name,
        @version = j.current_version,
        @revision = j.revision
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK)
    WHERE j.job_id = @job_id
        AND j.deleted_at IS NULL;
    IF @full_name IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job collection ''', @job_collection_name, N''' has no job named ''', @job_name,
            N'''. The view jobs.scheduler_jobs lists all jobs of collections.'
        ), N'%', N'%%');
        THROW 50165, @message, 1;
    END;
    SET @object = CONCAT(N'The job ''', @full_name, N'''');
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    EXECUTE jobs_internal.audit_collection @job_id = @job_id, @state = @before OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_delete_scheduler_job',
        @object_kind = N'Job',
        @object_name = @full_name,
        @object_id = @job_id,
        @job_id = @job_id,
        @before = @before,
        @version_before = @version,
        @revision_before = @revision;
    EXECUTE jobs_internal.delete_scheduler_jobs @collection_id = @collection_id, @job_id = @job_id;

    COMMIT TRANSACTION;

    -- A short history is deleted at once. Agents delete the rest, and everything if the caller has a transaction.
    EXECUTE jobs_internal.delete_leftovers @max_rows = 2000;
    RETURN 0;
END;
