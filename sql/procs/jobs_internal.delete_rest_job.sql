-- Deletes a job of the SAP surface, which the caller has locked.
--
-- Parameters:
--   @job     The _id.
--   @job_id  The job.
-- Called by: jobs_rest.delete_job, jobs_rest.unsubscribe, within their transactions.
-- Locks:     the job's row in rest_jobs (X), its action log (X); see jobs.sp_delete_job.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_rest_job
    @job    INT,
    @job_id UNIQUEIDENTIFIER
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @job_name NVARCHAR(128) = (SELECT j.name FROM jobs_internal.jobs AS j WHERE j.job_id = @job_id);

    -- order: rows of one job, which is locked
    DELETE a
    FROM jobs_internal.rest_action_log AS a
    WHERE a.rest_job_id = @job;
    -- Without this row, the job is one of T-SQL.
    DELETE r
    FROM jobs_internal.rest_jobs AS r
    WHERE r.rest_job_id = @job;
    EXECUTE jobs.sp_delete_job @job_name = @job_name, @force = 1;
    RETURN 0;
END;
