-- Refuses a change of a job of the SAP surface by T-SQL (S-67), and of a job of a job collection: only the surface keeps its rows
-- consistent. T-SQL may enable and disable such a job and its schedules, start and stop its runs, and purge its history.
--
-- Parameters:
--   @job_id    The job.
--   @job_name  Its name, for the message.
-- Called by: jobs_internal.store_job, jobs.sp_delete_job, jobs_internal.store_schedule, jobs.sp_delete_schedule,
--            jobs_internal.lock_steps, within their transactions.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50169 the job belongs to a job collection.
--   50180 the job belongs to the SAP surface, which alone may change it.
CREATE OR ALTER PROCEDURE jobs_internal.refuse_rest_job
    @job_id   UNIQUEIDENTIFIER,
    @job_name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    EXECUTE jobs_internal.check_no_collection @job_id = @job_id, @job_name = @job_name;
    IF EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = @job_id)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name,
            N''' belongs to the SAP surface. Change it there; T-SQL can only enable and disable it and its schedules.'
        ), N'%', N'%%');
        THROW 50180, @message, 1;
    END;
    RETURN 0;
END;
