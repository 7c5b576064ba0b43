-- Enables a schedule and sets its first due instant: the start if that is still to come, else now (decision 10). The
-- grid of later instants begins at the start, or now when the start is in the year 1. It consists of whole seconds: a
-- start is rounded up, since nothing is due before it, and now is rounded down, or the grid's first instant would be
-- another one, right after now. A schedule whose end has passed is Completed and has no due instant.
--
-- Parameters:
--   @job_id  Whose schedule.
--   @name    Name of the schedule; empty for the one of jobs.sp_add_job.
--   @now     Tests only.
-- Called by: jobs.sp_add_job, jobs.sp_update_job.
-- Locks:     one row of schedules (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.activate_schedule
    @job_id UNIQUEIDENTIFIER,
    @name   NVARCHAR(128),
    @now    DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @start DATETIME2(7);

    SELECT @start = CASE
        WHEN s.start_time = '0001-01-01T00:00:00' THEN DATEADD(NANOSECOND, -DATEPART(NANOSECOND, @now), @now)
        WHEN DATEPART(NANOSECOND, s.start_time) = 0 THEN s.start_time
        ELSE DATEADD(SECOND, 1, DATEADD(NANOSECOND, -DATEPART(NANOSECOND, s.start_time), s.start_time))
    END
    FROM jobs_internal.schedules AS s
    WHERE s.job_id = @job_id
        AND s.name = @name;

    UPDATE s
    SET s.enabled = 1,
        s.state = CASE WHEN s.end_time < @now THEN N'Completed' ELSE N'Enabled' END,
        s.reason = CASE WHEN s.end_time < @now THEN N'The end of the schedule had passed when it was enabled.' END,
        s.anchor_at = @start,
        s.next_due_at = CASE
            WHEN s.end_time < @now THEN NULL
            WHEN @start > @now THEN @start
            ELSE @now
        END,
        s.updated_at = @now
    FROM jobs_internal.schedules AS s
    WHERE s.job_id = @job_id
        AND s.name = @name;
    RETURN 0;
END;
