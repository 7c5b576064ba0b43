-- Stops the runs of the wave at which a roll-out aborts, and records what the wave has done when they have ended.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave; there need not be such a wave.
--   @ended         1: the runs of the wave have ended.
--   @slice         Maximum number of targets that are recorded, at least 1.
--   @examined      Output. Number of targets that were.
--   @complete      Output. 1: nothing is left to do.
--   @more          Output. 1: there is more to record, so the next pass should follow at once; else unchanged.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out, its targets, the wave (X); runs of the wave (X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.abort_wave
    @execution_id BIGINT,
    @wave         INT,
    @ended        BIT,
    @slice        INT = 5000,
    @examined     INT = 0 OUTPUT,
    @complete     BIT = 0 OUTPUT,
    @more         BIT = 0 OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @examined = 0;
    DECLARE @wave_state NVARCHAR(10);
    DECLARE @run_id BIGINT;
    DECLARE @probe_run_id BIGINT;
    DECLARE @preflight_run_id BIGINT;
    DECLARE @cancels BIT;

    SELECT
        @wave_state = w.state,
        @run_id = w.run_id,
        @probe_run_id = w.probe_run_id,
        @preflight_run_id = w.preflight_run_id,
        @cancels = r.cancels_running
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
    WHERE r.execution_id = @execution_id
        AND w.wave = @wave;
    -- rows: three
    UPDATE e
    SET e.stop_requested_at = @now,
        e.stop_requested_by = N'the roll-out',
        e.drains = CASE WHEN @cancels = 1 THEN 0 ELSE 1 END,
        e.parked = 0
    FROM jobs_internal.job_executions AS e WITH (UPDLOCK, READPAST, ROWLOCK)
    WHERE e.execution_id IN (@run_id, @probe_run_id, @preflight_run_id)
        AND e.is_active = 1
        AND e.stop_requested_at IS NULL;
    SET @complete = @ended;
    -- What the wave has done is recorded first, so that an undo finds it. A run has larger step_execution_ids than those before
    -- it, so this goes on from what was read.
    IF @complete = 1 AND @wave_state = N'Running'
    BEGIN
        EXECUTE jobs_internal.finish_wave
            @execution_id = @execution_id,
            @wave = @wave,
            @run_id = @run_id,
            @slice = @slice,
            @examined = @examined OUTPUT,
            @complete = @complete OUTPUT,
            @now = @now;
        SET @more = CASE WHEN @complete = 0 THEN 1 ELSE @more END;
        IF @complete = 1
            UPDATE w
            SET w.state = N'Stopped',
                w.bake_until = NULL,
                w.probe_at = NULL
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
    END;
    IF @complete = 1 AND @wave_state = N'Preflight'
        UPDATE w
        SET w.state = CASE WHEN w.run_id IS NULL THEN N'Pending' ELSE N'Stopped' END
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
    RETURN 0;
END;
