-- Records the next slice of what a wave has done, and judges the wave when all is recorded.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @run_id        Its latest run, which has ended.
--   @slice         Maximum number of targets that are read or changed, at least 1.
--   @examined      Output. Number of targets that were, at least 1.
--   @complete      Output. 1: all are recorded, and the wave is judged.
--   @passed        Output. 1: the wave has passed its gates; 0: it stops; unchanged before all is recorded.
--   @reason        Output. Why it stops; else unchanged.
-- Called by: jobs_internal.advance_rollout, jobs_internal.abort_wave.
-- Locks:     the roll-out, its targets, the wave (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.finish_wave
    @execution_id BIGINT,
    @wave         INT,
    @run_id       BIGINT,
    @slice        INT = 5000,
    @examined     INT = 0 OUTPUT,
    @complete     BIT = 0 OUTPUT,
    @passed       BIT = NULL OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    EXECUTE jobs_internal.record_wave
        @execution_id = @execution_id,
        @wave = @wave,
        @run_id = @run_id,
        @slice = @slice,
        @examined = @examined OUTPUT,
        @complete = @complete OUTPUT;
    IF @complete = 1
        EXECUTE jobs_internal.judge_wave
            @execution_id = @execution_id,
            @wave = @wave,
            @passed = @passed OUTPUT,
            @reason = @reason OUTPUT,
            @now = @now;
    RETURN 0;
END;
