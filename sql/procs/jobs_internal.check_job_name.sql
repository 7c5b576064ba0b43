-- Checks the name of a job that is to be added or renamed.
--
-- Parameters:
--   @job_name  The name.
-- Called by: jobs.sp_add_job, jobs.sp_update_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
CREATE OR ALTER PROCEDURE jobs_internal.check_job_name
    @job_name NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @job_name IS NULL OR LTRIM(@job_name) = N''
        THROW 50001, N'A job name is needed: @job_name is NULL or empty.', 1;
    IF CHARINDEX(N'%', @job_name) > 0
    BEGIN
        SET @message = CONCAT(N'The job name ''', @job_name, N''' contains %, which is not allowed.');
        THROW 50002, @message, 1;
    END;
    IF LEFT(@job_name, 9) = N'jobagent$'
    BEGIN
        SET @message = CONCAT(N'The job name ''', @job_name, N''' begins with jobagent$, which is reserved for system jobs.');
        THROW 50003, @message, 1;
    END;
    RETURN 0;
END;
