-- Pauses the control database if it was restored, copied, moved or renamed (jobs_internal.check_place), so that nothing fires and
-- nothing is claimed before somebody has looked at it (I16). If it is paused already, the reason of the pause says so in addition.
--
-- A backup that is younger than a lease brings its terms along, so agents go on without a new one. But it always leaves a gap: the
-- time of the last pass is that of the backup. So passes and firings look for a restore after each gap of more than five seconds, and
-- cost nothing else. Another server may have another clock: a last pass in the future is a gap, too.
--
-- Parameters:
--   @after_gap  1: only if no pass has advanced for more than five seconds. 0: always.
--   @now        The present time.
-- Called by: jobs_internal.start_term, jobs_internal.controller_pass, jobs_internal.fire_schedules, before their transactions.
-- Locks:     see jobs_internal.check_place; the row of the job agent (X), only if the database was restored.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.check_restored
    @after_gap BIT = 0,
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @found NVARCHAR(1000);

    IF @after_gap = 1
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.advance_state AS a
            WHERE a.id = 1
                AND a.last_advanced_at BETWEEN DATEADD(SECOND, -5, @now) AND DATEADD(SECOND, 5, @now)
        )
        RETURN 0;
    EXECUTE jobs_internal.check_place @found = @found OUTPUT;
    -- A backup of a paused database is paused, for a reason that says nothing of the restore.
    IF @found IS NOT NULL
        UPDATE a
        SET a.paused_at = COALESCE(a.paused_at, @now),
            a.paused_by = CASE WHEN a.paused_at IS NULL THEN N'jobagent' ELSE a.paused_by END,
            a.pause_reason = CAST(CONCAT(@found, N'. It was paused before: ' + NULLIF(a.pause_reason, N'')) AS NVARCHAR(2000))
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1
            AND (a.paused_at IS NULL OR a.pause_reason IS NULL OR CHARINDEX(@found, a.pause_reason) = 0);
    RETURN 0;
END;
