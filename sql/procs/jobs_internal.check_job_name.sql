-- Checks the name of a job to be added or renamed.
--
-- Parameters:
--   @job_name   The name.
--   @parameter  The caller's parameter with the name, for the message.
-- Called by: jobs_internal.store_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50001 the job name is missing or empty.
--   50002 the job name contains %.
--   50003 the job name is reserved for system jobs.
CREATE OR ALTER PROCEDURE jobs_internal.check_job_name
    @job_name  NVARCHAR(128),
    @parameter NVARCHAR(128) = N'@job_name'
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @job_name IS NULL OR LTRIM(@job_name) = N''
    BEGIN
        SET @message = REPLACE(CONCAT(N'Missing job name: ', @parameter, N' is NULL or empty.'), N'%', N'%%');
        THROW 50001, @message, 1;
    END;
    IF CHARINDEX(N'%', @job_name) > 0
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid job name ''', @job_name, N''': % is not allowed.'), N'%', N'%%');
        THROW 50002, @message, 1;
    END;
    IF LEFT(@job_name, 9) = N'jobagent$'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid job name ''', @job_name, N''': the prefix jobagent$ is reserved for system jobs.'
        ), N'%', N'%%');
        THROW 50003, @message, 1;
    END;
    RETURN 0;
END;
