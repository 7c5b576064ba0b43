-- Returns the shortest time that a number of units lasts: a month is taken as 28 days, a year as 365.
--
-- Parameters:
--   @frequency  minute, hour, day, week, month or year, in any case.
--   @interval   Number of units, 1 to 1000; NULL: 1.
--   @seconds    Receives the time; NULL: the frequency or the interval is invalid.
-- Called by: jobs.sp_set_job_collection, jobs.sp_set_scheduler_job.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.gap_seconds
    @frequency NVARCHAR(20),
    @interval  INT,
    @seconds   BIGINT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @interval = COALESCE(@interval, 1);

    SET @seconds = CASE WHEN @interval BETWEEN 1 AND 1000 THEN @interval * CASE @frequency COLLATE Latin1_General_100_CI_AS
        WHEN N'minute' THEN 60
        WHEN N'hour' THEN 3600
        WHEN N'day' THEN 86400
        WHEN N'week' THEN 604800
        WHEN N'month' THEN CAST(2419200 AS BIGINT)
        WHEN N'year' THEN 31536000
    END END;
    RETURN 0;
END;
