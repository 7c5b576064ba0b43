-- Checks the on_unknown_outcome of a step.
--
-- Parameters:
--   @on_unknown_outcome  Retry, Fail or Await in any case; receives this spelling. NULL stays NULL.
-- Called by: jobs.sp_add_jobstep, jobs.sp_update_jobstep, jobs.sp_set_jobstep_options.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50032 @on_unknown_outcome is neither Retry, Fail nor Await.
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_internal.check_unknown_outcome
    @on_unknown_outcome NVARCHAR(11) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    IF DATALENGTH(@on_unknown_outcome) > 20
        THROW 50097, N'Invalid @on_unknown_outcome: want at most 10 characters, not 11 or more.', 1;
    IF @on_unknown_outcome COLLATE Latin1_General_100_CI_AS NOT IN (N'retry', N'fail', N'await')
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @on_unknown_outcome ''', @on_unknown_outcome, N''': want Retry, Fail or Await.'
        ), N'%', N'%%');
        THROW 50032, @message, 1;
    END;
    SET @on_unknown_outcome = CASE @on_unknown_outcome COLLATE Latin1_General_100_CI_AS
        WHEN N'retry' THEN N'Retry'
        WHEN N'fail' THEN N'Fail'
        WHEN N'await' THEN N'Await'
    END;
    RETURN 0;
END;
