-- Takes the next step towards the start of a wave: an approval and an open window are awaited, the probe before it and its preflight are
-- started, and then its run. DESIGN.md, "Roll-outs", has the order.
--
-- Parameters:
--   @execution_id  The roll-out's own run, in the state Starting; the caller has locked the row of the roll-out.
--   @wave          Number of the wave; it has targets, and is not skipped.
--   @checked       1: its preflight has just passed.
--   @next          Input and output. The state of the roll-out.
--   @check_at      Input and output. When it is due again.
--   @again         Output. 1: the roll-out can go on at once; else unchanged.
--   @more          Output. 1: something was started, so the next pass should follow at once; 0: the probe was not; else unchanged.
--   @passed        Output. 0: the roll-out stops at this wave; else unchanged.
--   @reason        Output. Why it stops; else unchanged.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out, its waves (X); inserts into job_executions.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.enter_wave
    @execution_id BIGINT,
    @wave         INT,
    @checked      BIT = 0,
    @next         NVARCHAR(10) = NULL OUTPUT,
    @check_at     DATETIME2(7) = NULL OUTPUT,
    @again        BIT = 0 OUTPUT,
    @more         BIT = 0 OUTPUT,
    @passed       BIT = NULL OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @deadline_at DATETIME2(7);
    DECLARE @paused_at DATETIME2(7);
    DECLARE @open_until DATETIME2(7);
    DECLARE @preflight NVARCHAR(10); -- what a target that fails it does
    DECLARE @approval NVARCHAR(10);
    DECLARE @approved_at DATETIME2(7);
    DECLARE @window_name NVARCHAR(128);
    DECLARE @probe_at DATETIME2(7);
    DECLARE @before_due BIT; -- the probe before the wave must run

    SELECT
        @deadline_at = r.deadline_at,
        @paused_at = r.paused_at,
        @open_until = r.window_open_until,
        @preflight = r.preflight,
        @approval = w.approval,
        @approved_at = w.approved_at,
        @window_name = w.window_name,
        @probe_at = w.probe_at,
        @before_due = CASE
            WHEN w.run_id IS NULL AND COALESCE(w.probe_min_percent, w.probe_max_percent) IS NOT NULL THEN 1
            ELSE 0
        END
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
    WHERE r.execution_id = @execution_id
        AND w.wave = @wave;
    -- A target may have been moved into the wave after the probe before it.
    -- Plan: a range of IX_rollout_targets_wave, and keys of rollout_probe_values.
    IF @before_due = 1
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave
                AND w.before_run_id IS NOT NULL
        )
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.rollout_waves AS w
            INNER JOIN jobs_internal.rollout_targets AS t ON t.execution_id = w.execution_id AND t.wave = w.wave
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave
                AND t.state <> N'LeftOut'
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.rollout_probe_values AS v
                    WHERE v.execution_id = w.before_run_id
                        AND v.target_id = t.target_id
                )
        )
        SET @before_due = 0;
    IF @paused_at IS NOT NULL OR (@approval <> N'none' AND @approved_at IS NULL)
        SET @check_at = @deadline_at;
    -- The answer that the window is open makes the roll-out due. One that holds for longer than any other is one before the clock was set
    -- back, as in hold_targets.
    ELSE IF @window_name IS NOT NULL AND (@open_until IS NULL OR @open_until <= @now OR @open_until > DATEADD(MINUTE, 3, @now))
        SET @check_at = @deadline_at;
    ELSE IF @before_due = 1
    BEGIN
        EXECUTE jobs_internal.start_probe
            @execution_id = @execution_id,
            @wave = @wave,
            @tried_at = @probe_at,
            @next = @next OUTPUT,
            @check_at = @check_at OUTPUT,
            @more = @more OUTPUT,
            @passed = @passed OUTPUT,
            @reason = @reason OUTPUT,
            @now = @now;
        IF @more = 0
            UPDATE w
            SET w.probe_at = CASE WHEN @passed IS NULL THEN COALESCE(w.probe_at, @now) END
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
    END;
    ELSE IF @preflight <> N'none' AND @checked = 0
    BEGIN
        -- A wave starts in the pass that has seen its preflight pass: after a pause, it is checked again.
        UPDATE w
        SET w.state = N'Preflight',
            w.preflight_run_id = NULL
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        UPDATE r
        SET r.read_step = 0,
            r.read_target = 0
        FROM jobs_internal.rollouts AS r
        WHERE r.execution_id = @execution_id;
        SET @next = N'Preflight';
        SET @again = 1;
    END;
    ELSE
    BEGIN
        EXECUTE jobs_internal.start_wave @execution_id = @execution_id, @wave = @wave, @now = @now;
        SET @next = N'Running';
        SET @more = 1;
    END;
    RETURN 0;
END;
