-- Refuses to change a part of a job that belongs to a job collection: jobs.sp_set_scheduler_job changes such jobs as a whole.
--
-- Parameters:
--   @job_id    The job; the caller has locked it.
--   @job_name  Its name, for the message.
-- Called by: jobs_internal.refuse_rest_job; jobs_internal.store_job, within their transactions.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50169 the job belongs to a job collection.
CREATE OR ALTER PROCEDURE jobs_internal.check_no_collection
    @job_id   UNIQUEIDENTIFIER,
    @job_name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF EXISTS (SELECT 1 FROM jobs_internal.scheduler_jobs AS s WHERE s.job_id = @job_id)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job ''', @job_name,
            N''' belongs to a job collection. It is changed as a whole: by the Scheduler API, jobs.sp_set_scheduler_job or',
            N' jobs.sp_delete_scheduler_job.'
        ), N'%', N'%%');
        THROW 50169, @message, 1;
    END;
    RETURN 0;
END;
