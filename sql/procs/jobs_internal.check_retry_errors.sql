-- Checks the retry_errors of a step.
--
-- Parameters:
--   @retry_errors  All or Transient in any case; receives this spelling. NULL stays NULL.
-- Called by: jobs.sp_add_jobstep, jobs.sp_update_jobstep, jobs.sp_set_jobstep_options.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50068 @retry_errors is neither All nor Transient.
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_internal.check_retry_errors
    @retry_errors NVARCHAR(51) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF DATALENGTH(@retry_errors) > 100
        THROW 50097, N'Invalid @retry_errors: want at most 50 characters, not 51 or more.', 1;
    IF @retry_errors COLLATE Latin1_General_100_CI_AS NOT IN (N'all', N'transient')
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @retry_errors ''', @retry_errors, N''': want All or Transient.'), N'%', N'%%');
        THROW 50068, @message, 1;
    END;
    SET @retry_errors = CASE @retry_errors COLLATE Latin1_General_100_CI_AS
        WHEN N'all' THEN N'All'
        WHEN N'transient' THEN N'Transient'
    END;
    RETURN 0;
END;
