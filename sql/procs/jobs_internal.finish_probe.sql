-- Judges a wave by its probe, which has ended: a gate that cannot be evaluated has failed.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @lifecycle     How the probe ended; NULL: it has no run any more.
--   @next          Output. Starting: of the same wave, if @passed is NULL; else of the next one. Baking: the probe runs again later.
--                  Unchanged if the wave stops.
--   @passed        Output. 0: the wave stops; 1: it has passed, or bakes on; NULL: it was the probe before the wave, or the wave is
--                  skipped.
--   @reason        Output. Why it stops; else unchanged.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the wave (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.finish_probe
    @execution_id BIGINT,
    @wave         INT,
    @lifecycle    NVARCHAR(50),
    @next         NVARCHAR(10) = NULL OUTPUT,
    @passed       BIT = NULL OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @passed = NULL;
    DECLARE @wave_name NVARCHAR(128);
    DECLARE @wave_state NVARCHAR(10);
    DECLARE @is_before BIT;
    DECLARE @is_last BIT; -- the bake had ended when it began
    DECLARE @probe_run_id BIGINT;

    SELECT
        @wave_name = w.name,
        @wave_state = w.state,
        @is_last = CASE WHEN w.bake_until <= e.create_time THEN 1 ELSE 0 END,
        @probe_run_id = w.probe_run_id
    FROM jobs_internal.rollout_waves AS w
    LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = w.probe_run_id
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;
    SET @is_before = CASE WHEN @wave_state = N'Baking' THEN 0 ELSE 1 END;
    IF @wave_state = N'Skipped'
        SET @next = N'Starting';
    ELSE IF @lifecycle IS NULL
        OR @lifecycle <> N'Succeeded'
        OR NOT EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.execution_id = @probe_run_id)
    BEGIN
        SET @passed = 0;
        SET @reason = CONCAT(
            N'Wave ''', @wave_name, N''': its probe ', CASE WHEN @is_before = 1 THEN N'before it ' END,
            CASE
                WHEN @lifecycle IS NULL THEN N'has no run any more.'
                WHEN @lifecycle = N'Succeeded' THEN N'had no target.'
                ELSE CONCAT(N'ended as ', @lifecycle, N'.')
            END
        );
    END;
    ELSE
        EXECUTE jobs_internal.judge_probe
            @execution_id = @execution_id,
            @wave = @wave,
            @is_before = @is_before,
            @passed = @passed OUTPUT,
            @reason = @reason OUTPUT;
    IF @passed = 1 AND @is_before = 1
    BEGIN
        SET @passed = NULL; -- only of the wave
        SET @next = N'Starting';
    END;
    ELSE IF @passed = 1 AND @is_last = 1 -- and nobody has extended the bake since
        SET @next = N'Starting';
    ELSE IF @passed = 1
    BEGIN
        UPDATE w
        SET w.probe_at = DATEADD(SECOND, w.probe_every_seconds, @now)
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        SET @next = N'Baking';
    END;
    RETURN 0;
END;
