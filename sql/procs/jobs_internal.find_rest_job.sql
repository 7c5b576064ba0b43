-- Finds a job of the SAP surface by its _id. A job of another tenant is not found. No lock is taken.
--
-- Parameters:
--   @tenant  The tenant; NULL: the provider.
--   @job     The _id.
--   @job_id  Receives the id.
-- Called by: the procedures of jobs_rest that read, and jobs_internal.lock_rest_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50172 the job does not exist in the tenant.
CREATE OR ALTER PROCEDURE jobs_internal.find_rest_job
    @tenant NVARCHAR(128),
    @job    BIGINT,
    @job_id UNIQUEIDENTIFIER OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @job_id = NULL;
    IF @job BETWEEN 1 AND 2147483647
        SELECT @job_id = r.job_id
        FROM jobs_internal.rest_jobs AS r
        WHERE r.rest_job_id = @job
            AND (@tenant IS NULL OR r.tenant_id = @tenant); -- plan: the row is found by its key
    IF @job_id IS NULL
        THROW 50172, N'The job does not exist.', 1;
    RETURN 0;
END;
