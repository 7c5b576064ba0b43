-- Finds a job whose steps are to be changed, and locks its row until the caller's transaction ends.
--
-- Parameters:
--   @job_name  Name of the job.
--   @job_id    Receives its id.
--   @version   Receives its current version.
-- Called by: jobs_internal.store_step, jobs.sp_delete_jobstep, within their transactions.
-- Locks:     one row of jobs (U).
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50100 the job does not exist.
--   50118 the job is a system job, whose steps cannot be changed.
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs_internal.lock_steps
    @job_name NVARCHAR(128),
    @job_id   UNIQUEIDENTIFIER OUTPUT,
    @version  INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    EXECUTE jobs_internal.lock_job @job_name = @job_name, @job_id = @job_id OUTPUT, @version = @version OUTPUT;
    EXECUTE jobs_internal.refuse_rest_job @job_id = @job_id, @job_name = @job_name;
    IF EXISTS (SELECT 1 FROM jobs_internal.jobs AS j WHERE j.job_id = @job_id AND j.is_system = 1)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name, N''' is a system job. Its steps cannot be changed.'
        ), N'%', N'%%');
        THROW 50118, @message, 1;
    END;
    RETURN 0;
END;
