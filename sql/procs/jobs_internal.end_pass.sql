-- Records that a pass has advanced executions, at most once a second. It is called at the end, so that the time that a pass takes is
-- no gap. If that was more than five seconds, the server may have stood still, or the clock may have jumped ahead, in the middle of
-- the pass: then its beginning is recorded, and the next pass finds a gap.
--
-- Parameters:
--   @at  The time of the pass, from jobs_internal.begin_pass.
-- Called by: jobs_internal.controller_pass, jobs_internal.advance_job_agent, after jobs_internal.advance, within the same transaction.
-- Locks:     the row of advance_state (X), which jobs_internal.begin_pass has locked.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.end_pass
    @at  DATETIME2(7),
    @now DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    IF @at < DATEADD(SECOND, -5, @now)
        SET @now = @at;

    UPDATE a
    SET a.last_advanced_at = @now
    FROM jobs_internal.advance_state AS a
    WHERE a.id = 1
        AND a.last_advanced_at < DATEADD(SECOND, -1, @now);
    RETURN 0;
END;
