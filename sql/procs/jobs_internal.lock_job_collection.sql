-- Finds a job collection by name and locks its row until the caller's transaction ends.
--
-- Parameters:
--   @job_collection_name  Name of the collection.
--   @collection_id        Receives its id.
--   @state                Receives its state.
--   @revision             Receives its revision.
-- Called by: the public procedures of job collections and their jobs, within their transactions, before they lock a job.
-- Locks:     one row of job_collections (U).
-- Returns:   0.
-- Throws:
--   50164 the job collection does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.lock_job_collection
    @job_collection_name NVARCHAR(200),
    @collection_id       UNIQUEIDENTIFIER OUTPUT,
    @state               NVARCHAR(10) = NULL OUTPUT,
    @revision            BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    EXECUTE jobs_internal.check_job_agent;
    -- revision is in no index, so that the lock is on the clustered key.
    SET @collection_id = NULL;
    SELECT
        @collection_id = c.collection_id,
        @state = c.state,
        @revision = c.revision
    FROM jobs_internal.job_collections AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @job_collection_name;
    IF @collection_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job collection ''', @job_collection_name, N''' does not exist. The view jobs.job_collections lists all collections.'
        ), N'%', N'%%');
        THROW 50164, @message, 1;
    END;
    RETURN 0;
END;
