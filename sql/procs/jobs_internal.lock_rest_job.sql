-- Finds a job of the SAP surface by its _id, and locks it until the caller's transaction ends: its row in jobs stands
-- for all its other rows. Its revision is raised. A job of another tenant is not locked.
--
-- Parameters:
--   @tenant   The tenant; NULL: the provider.
--   @job      The _id.
--   @job_id   Receives the id.
--   @version  Receives the current version.
--   @state    Receives the state before the change, for jobs_internal.log_rest_action.
-- Called by: the procedures of jobs_rest that change a job, within their transactions; jobs.sp_update_job.
-- Locks:     one row of jobs (U, X).
-- Returns:   0.
-- Throws:
--   50172 the job does not exist in the tenant.
CREATE OR ALTER PROCEDURE jobs_internal.lock_rest_job
    @tenant  NVARCHAR(128),
    @job     BIGINT,
    @job_id  UNIQUEIDENTIFIER OUTPUT,
    @version INT = NULL OUTPUT,
    @state   NVARCHAR(MAX) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @locked UNIQUEIDENTIFIER;

    EXECUTE jobs_internal.find_rest_job @tenant = @tenant, @job = @job, @job_id = @job_id OUTPUT;
    -- current_version is in no index, so that the lock is on the clustered key, where firings and passes look for it.
    SELECT
        @locked = j.job_id,
        @version = j.current_version
    FROM jobs_internal.jobs AS j WITH (UPDLOCK, ROWLOCK)
    WHERE j.job_id = @job_id;
    -- The session that held the lock may have deleted the job.
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.rest_job_id = @job)
        THROW 50172, N'The job does not exist.', 1;
    EXECUTE jobs_internal.state_of_rest_job @job = @job, @state = @state OUTPUT;
    -- An exclusive lock on the job comes before all others: a firing has a shared one, and reads the other rows.
    EXECUTE jobs_internal.raise_revision @job_id = @job_id;
    RETURN 0;
END;
