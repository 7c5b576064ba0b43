-- Deletes a job collection with its jobs and their history. Active runs are canceled; their agents notice on the next pass.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @if_match             The revision that it must have; -1: it must exist. NULL: nothing is expected.
-- Called by: members of the role jobs_admin.
-- Locks:     the row in job_collections (U, X), its rows of jobs (U, X), schedules (U, X), schedule_buffer (X), active executions (X).
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50164 the job collection does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_job_collection
    @job_collection_name NVARCHAR(201),
    @if_match            BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @object NVARCHAR(400);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @collection_id UNIQUEIDENTIFIER;
    DECLARE @revision BIGINT;

    IF DATALENGTH(@job_collection_name) > 400
        THROW 50097, N'Invalid @job_collection_name: want at most 200 characters, not 201 or more.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.lock_job_collection
        @job_collection_name = @job_collection_name,
        @collection_id = @collection_id OUTPUT,
        @revision = @revision OUTPUT;
    SET @object = CONCAT(N'The job collection ''', @job_collection_name, N'''');
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    EXECUTE jobs_internal.audit_collection @collection_id = @collection_id, @state = @before OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_delete_job_collection',
        @object_kind = N'JobCollection',
        @object_name = @job_collection_name,
        @object_id = @collection_id,
        @before = @before,
        @revision_before = @revision;
    EXECUTE jobs_internal.delete_scheduler_jobs @collection_id = @collection_id;
    DELETE c
    FROM jobs_internal.job_collections AS c
    WHERE c.collection_id = @collection_id;

    COMMIT TRANSACTION;

    -- A short history is deleted at once. Agents delete the rest, and everything if the caller has a transaction.
    EXECUTE jobs_internal.delete_leftovers @max_rows = 2000;
    RETURN 0;
END;
