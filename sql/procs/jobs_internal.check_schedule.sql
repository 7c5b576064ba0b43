-- Checks an interval schedule and normalises the spelling of its type (decision 29).
--
-- Parameters:
--   @interval_type   Type in any case; receives the canonical spelling.
--   @interval_count  Units between two due instants.
--   @start_time      Earliest instant.
--   @end_time        Latest instant.
-- Called by: jobs_internal.store_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50004 the schedule interval type is invalid.
--   50005 the schedule interval count is below 1.
--   50006 the schedule ends before it starts.
CREATE OR ALTER PROCEDURE jobs_internal.check_schedule
    @interval_type  NVARCHAR(50) OUTPUT,
    @interval_count INT,
    @start_time     DATETIME2(7),
    @end_time       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @canonical NVARCHAR(50) = CASE @interval_type COLLATE Latin1_General_100_CI_AS
        WHEN N'once' THEN N'Once'
        WHEN N'minutes' THEN N'Minutes'
        WHEN N'hours' THEN N'Hours'
        WHEN N'days' THEN N'Days'
        WHEN N'weeks' THEN N'Weeks'
        WHEN N'months' THEN N'Months'
    END;

    IF @canonical IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @schedule_interval_type ''', @interval_type, N''': want Once, Minutes, Hours, Days, Weeks or Months.'
        ), N'%', N'%%');
        THROW 50004, @message, 1;
    END;
    IF @interval_count IS NULL OR @interval_count < 1
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @schedule_interval_count ', @interval_count, N': want at least 1.'), N'%', N'%%');
        THROW 50005, @message, 1;
    END;
    IF @end_time < @start_time
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid schedule: it ends (', CONVERT(NVARCHAR(33), @end_time, 126), N') before it starts (',
            CONVERT(NVARCHAR(33), @start_time, 126), N').'
        ), N'%', N'%%');
        THROW 50006, @message, 1;
    END;
    SET @interval_type = @canonical;
    RETURN 0;
END;
