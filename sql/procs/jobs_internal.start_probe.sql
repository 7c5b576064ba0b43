-- Starts the probe of a wave. Another session may hold its job, so it is tried for a minute; then the gate has failed.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @tried_at      When it was due; NULL: it is tried for the first time.
--   @next          Output. Probing, if it was started; else unchanged.
--   @check_at      Output. When to try again; else unchanged.
--   @more          Output. 1: it was started.
--   @passed        Output. 0: it cannot be started; else unchanged.
--   @reason        Output. Why the wave stops; else unchanged.
-- Called by: jobs_internal.advance_rollout, jobs_internal.enter_wave.
-- Locks:     the wave (X); inserts into job_executions.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.start_probe
    @execution_id BIGINT,
    @wave         INT,
    @tried_at     DATETIME2(7) = NULL,
    @next         NVARCHAR(10) = NULL OUTPUT,
    @check_at     DATETIME2(7) = NULL OUTPUT,
    @more         BIT = 0 OUTPUT,
    @passed       BIT = NULL OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    EXECUTE jobs_internal.start_wave
        @execution_id = @execution_id,
        @wave = @wave,
        @is_probe = 1,
        @started = @more OUTPUT,
        @now = @now;
    IF @more = 1
        SET @next = N'Probing';
    ELSE IF @tried_at <= DATEADD(MINUTE, -1, @now)
    BEGIN
        SET @passed = 0;
        SELECT @reason = CONCAT(N'Wave ''', w.name, N''': its probe job does not exist.')
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
    END;
    ELSE
        SET @check_at = DATEADD(SECOND, 1, @now);
    RETURN 0;
END;
