-- Stops the run of a wave whose gate it cannot meet any more.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the run of the wave (X), skipping a locked row.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.stop_failing_wave
    @execution_id BIGINT,
    @wave         INT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @run_id BIGINT;
    DECLARE @max_failed INT;
    DECLARE @max_unknown INT;
    DECLARE @cancels BIT;
    DECLARE @failed INT;
    DECLARE @unknown INT;

    SELECT
        @run_id = w.run_id,
        @max_failed = w.max_failed,
        @max_unknown = w.max_unknown,
        @cancels = r.cancels_running
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
    WHERE r.execution_id = @execution_id
        AND w.wave = @wave;
    -- Claims compare the failures with the gate, too: this ends what they have stopped. Plan: IX_target_executions_failed.
    -- reads: as many failed targets as the gate permits, and one
    SELECT
        @failed = COUNT(*),
        @unknown = COALESCE(SUM(CAST(f.outcome_unknown AS INT)), 0)
    FROM (
        SELECT TOP (@max_failed + 1) t.outcome_unknown
        FROM jobs_internal.target_executions AS t
        WHERE t.execution_id = @run_id
            AND t.lifecycle IN (N'Failed', N'TimedOut')
    ) AS f;
    IF @failed > @max_failed OR @unknown > @max_unknown
        UPDATE e
        SET e.stop_requested_at = @now,
            e.stop_requested_by = N'the gate of the wave',
            e.drains = CASE WHEN @cancels = 1 THEN 0 ELSE 1 END,
            e.parked = 0
        FROM jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK)
        WHERE e.execution_id = @run_id
            AND e.is_active = 1
            AND e.stop_requested_at IS NULL;
    RETURN 0;
END;
