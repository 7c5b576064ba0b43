-- Checks the name of a job collection or of a job in one (R-35): 1 to 100 letters A to Z and a to z, digits, -, _ and periods.
--
-- Parameters:
--   @name       The name.
--   @parameter  The caller's parameter with the name, for the message.
-- Called by: jobs.sp_set_job_collection, jobs.sp_set_scheduler_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50082 the name of a job collection, or of a job in one, is missing or invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_collection_name
    @name      NVARCHAR(200),
    @parameter NVARCHAR(128)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF @name IS NULL
        OR @name = N''
        OR LEN(@name) > 100
        OR @name COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9._-]%'
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid ', @parameter, N' ''', @name, N''': want 1 to 100 letters (A to Z, a to z), digits, periods, - and _.'
        ), N'%', N'%%');
        THROW 50082, @message, 1;
    END;
    RETURN 0;
END;
