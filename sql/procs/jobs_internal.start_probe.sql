-- Starts the probe of a wave. Another session may hold its job, so it is tried for a minute; then the gate has failed. The minute begins
-- anew if nobody has tried for as long, because no agent lived: what was due meanwhile was not tried at all.
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
    DECLARE @since DATETIME2(7) = @tried_at;

    -- Each try sets the time of the next one.
    SELECT @since = @now
    FROM jobs_internal.rollouts AS r
    WHERE r.execution_id = @execution_id
        AND r.next_check_at <= DATEADD(MINUTE, -1, @now);
    EXECUTE jobs_internal.start_wave
        @execution_id = @execution_id,
        @wave = @wave,
        @is_probe = 1,
        @started = @more OUTPUT,
        @now = @now;
    IF @more = 1
        SET @next = N'Probing';
    ELSE IF @since <= DATEADD(MINUTE, -1, @now)
    BEGIN
        SET @passed = 0;
        SELECT @reason = CONCAT(N'Wave ''', w.name, N''': its probe job does not exist, or another session has held it for a minute.')
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
    END;
    ELSE
    BEGIN
        SET @check_at = DATEADD(SECOND, 1, @now);
        IF @since > @tried_at
            UPDATE w
            SET w.probe_at = @since
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
    END;
    RETURN 0;
END;
