-- Finds a job by name and locks its row until the caller's transaction ends. The job agent must permit changes
-- (jobs_internal.check_job_agent).
--
-- Parameters:
--   @job_name          Name of the job.
--   @job_id            Receives its id.
--   @version           Receives its current version.
--   @revision          Receives its revision.
--   @job_execution_id  The id that the caller gives to a run, as in jobs_internal.check_job_agent.
-- Called by: the public procedures that change or start a job, within their transactions.
-- Locks:     one row of jobs (U).
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50100 the job does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.lock_job
    @job_name         NVARCHAR(128),
    @job_id           UNIQUEIDENTIFIER OUTPUT,
    @version          INT = NULL OUTPUT,
    @revision         BIGINT = NULL OUTPUT,
    @job_execution_id UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @job_name IS NULL OR LTRIM(@job_name) = N''
        THROW 50001, N'Missing job name: @job_name is NULL or empty.', 1;

    EXECUTE jobs_internal.check_job_agent @job_execution_id = @job_execution_id;
    -- current_version is in no index, so that the lock is on the clustered key, where firings and passes look for it.
    SET @job_id = NULL;
    SELECT
        @job_id = j.job_id,
        @version = j.current_version,
        @revision = j.revision
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_jobs_name (name)))
    WHERE j.name = @job_name
        AND j.deleted_at IS NULL;

    IF @job_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job ''', @job_name, N''' does not exist. The view jobs.jobs lists all jobs.'), N'%', N'%%');
        THROW 50100, @message, 1;
    END;
    RETURN 0;
END;
