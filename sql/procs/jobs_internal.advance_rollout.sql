-- Moves on one roll-out, state by state, until it waits for a time, the end of a run or a person. No wave starts unless the one before has
-- passed its gates and its bake has ended; a gate or a preflight that cannot be evaluated has failed. DESIGN.md, "Roll-outs", has the
-- states.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @slice         Maximum number of targets that are assigned or recorded, at least 1.
--   @examined      Output. Number of targets that were.
--   @more          Output. 1: there is more to do, so the next pass should follow at once.
-- Called by: jobs_internal.advance_rollouts.
-- Locks:     the roll-out, its waves and targets (X); runs of its waves (X), skipping locked rows; inserts into job_executions.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.advance_rollout
    @execution_id BIGINT,
    @slice        INT = 5000,
    @examined     INT = 0 OUTPUT,
    @more         BIT = 0 OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @examined = 0;
    SET @more = 0;
    DECLARE @again BIT = 1;
    DECLARE @state NVARCHAR(10);
    DECLARE @next NVARCHAR(10);   -- state
    DECLARE @check_at DATETIME2(7); -- the next check
    DECLARE @reason NVARCHAR(2000);
    DECLARE @stop_reason NVARCHAR(2000); -- NULL: it is not to stop
    DECLARE @wave INT;
    DECLARE @waves INT;
    DECLARE @deadline_at DATETIME2(7);
    DECLARE @paused_at DATETIME2(7);
    DECLARE @aborts BIT; -- a gate that fails aborts the roll-out
    DECLARE @is_active BIT;
    DECLARE @lifecycle NVARCHAR(50);
    DECLARE @stop_requested_at DATETIME2(7);
    DECLARE @starts NVARCHAR(10);
    DECLARE @started_by NVARCHAR(128);
    DECLARE @run_id BIGINT;
    DECLARE @run_ended BIT;
    DECLARE @preflight_run_id BIGINT;
    DECLARE @preflight_ended BIT;
    DECLARE @checked BIT = 0; -- the preflight of the wave has just passed
    DECLARE @probe_run_id BIGINT;
    DECLARE @probe_ended BIT;
    DECLARE @probe_end DATETIME2(7);
    DECLARE @probe_lifecycle NVARCHAR(50);
    DECLARE @targets INT;
    DECLARE @approval NVARCHAR(10);
    DECLARE @approved_at DATETIME2(7);
    DECLARE @wave_state NVARCHAR(10);
    DECLARE @bake_until DATETIME2(7);
    DECLARE @probe_job_id UNIQUEIDENTIFIER;
    DECLARE @probe_at DATETIME2(7);
    DECLARE @complete BIT;
    DECLARE @read INT;
    DECLARE @passed BIT;
    DECLARE @window_name NVARCHAR(128);
    DECLARE @read_wave INT;
    DECLARE @tried_at DATETIME2(7);
    DECLARE @ended BIT; -- all runs of the wave have
    DECLARE @has_window BIT; -- 1: an agent has to evaluate the window of the wave

    WHILE @again = 1
    BEGIN
        SET @again = 0;
        SET @reason = NULL;
        SET @passed = NULL;
        SET @complete = 0;
        SELECT
            @state = r.state,
            @wave = r.wave,
            @deadline_at = r.deadline_at,
            @paused_at = r.paused_at,
            @read_wave = r.wave,
            @stop_reason = CASE
                WHEN e.stop_requested_at IS NULL THEN NULL
                WHEN r.reason LIKE N'Aborted by %' THEN r.reason -- which says why, too
                ELSE CONCAT(N'Aborted by ', e.stop_requested_by, N'.')
            END,
            @aborts = CASE WHEN r.on_gate_failure = N'abort' THEN 1 ELSE 0 END,
            @is_active = e.is_active,
            @lifecycle = e.lifecycle,
            @stop_requested_at = e.stop_requested_at,
            @starts = e.rollout_start,
            @started_by = e.started_by
        FROM jobs_internal.rollouts AS r
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = r.execution_id
        WHERE r.execution_id = @execution_id;
        SET @waves = (SELECT COUNT(*) FROM jobs_internal.rollout_waves AS w WHERE w.execution_id = @execution_id);
        SET @run_id = NULL;
        SET @probe_run_id = NULL;
        SET @preflight_run_id = NULL;
        SET @wave_state = NULL;
        SET @window_name = NULL;
        SELECT
            @wave_state = w.state,
            @targets = w.targets,
            @approval = w.approval,
            @approved_at = w.approved_at,
            @window_name = w.window_name,
            @bake_until = w.bake_until,
            @probe_job_id = w.probe_job_id,
            @probe_at = w.probe_at,
            @run_id = w.run_id,
            @probe_run_id = w.probe_run_id,
            @preflight_run_id = w.preflight_run_id
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        -- A run that another session holds, with a stop request that is not committed, counts as active. Plan: a key each.
        SET @run_ended = CASE WHEN @run_id IS NULL THEN 1 ELSE 0 END;
        SELECT @run_ended = 1 - e.is_active
        FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: as the comment says
        WHERE e.execution_id = @run_id;
        SET @probe_lifecycle = NULL;
        SET @probe_end = NULL;
        SET @probe_ended = CASE WHEN @probe_run_id IS NULL THEN 1 ELSE 0 END;
        SELECT
            @probe_ended = 1 - e.is_active,
            @probe_lifecycle = e.lifecycle,
            @probe_end = e.end_time
        FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: as the comment says
        WHERE e.execution_id = @probe_run_id;
        SET @preflight_ended = CASE WHEN @preflight_run_id IS NULL THEN 1 ELSE 0 END;
        SELECT @preflight_ended = 1 - e.is_active
        FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: as the comment says
        WHERE e.execution_id = @preflight_run_id;
        SET @next = @state;
        SET @check_at = @now;

        IF @is_active = 0 -- its targets were not resolved
        BEGIN
            SET @next = CASE WHEN @lifecycle = N'Canceled' THEN N'Aborted' ELSE N'Failed' END;
            SET @reason = CASE
                WHEN @lifecycle = N'Canceled' AND @stop_reason IS NOT NULL THEN @stop_reason
                ELSE N'Its targets were not resolved.'
            END;
        END;
        ELSE IF @stop_requested_at IS NOT NULL AND @state <> N'Aborting'
        BEGIN
            SET @next = N'Aborting';
            SET @reason = @stop_reason;
            SET @again = 1;
        END;
        ELSE IF @state = N'Planning'
        BEGIN
            EXECUTE jobs_internal.finish_planning
                @execution_id = @execution_id,
                @complete = @complete OUTPUT,
                @check_at = @check_at OUTPUT,
                @now = @now;
            IF @complete = 1
            BEGIN
                SET @next = N'Assigning';
                SET @again = 1;
            END;
        END;
        ELSE IF @deadline_at <= @now AND @state <> N'Aborting'
        BEGIN
            EXECUTE jobs_internal.pass_deadline
                @execution_id = @execution_id,
                @aborts = @aborts OUTPUT,
                @reason = @reason OUTPUT,
                @now = @now;
            SET @next = CASE WHEN @aborts = 1 THEN N'Aborting' ELSE @state END;
            SET @again = 1;
        END;
        ELSE IF @state = N'Assigning'
        BEGIN
            SET @read = @slice - @examined;
            EXECUTE jobs_internal.assign_rollout_targets
                @execution_id = @execution_id,
                @slice = @read,
                @examined = @read OUTPUT,
                @complete = @complete OUTPUT,
                @fault = @reason OUTPUT;
            SET @examined = @examined + @read;
            IF @reason IS NOT NULL
            BEGIN
                SET @next = N'Aborting';
                SET @again = 1;
            END;
            ELSE IF @complete = 0
                SET @more = 1;
            ELSE
            BEGIN
                SET @next = N'Starting';
                SET @wave = 1;
                SET @again = 1;
                IF @starts = N'Hold'
                    UPDATE r
                    SET r.paused_at = @now,
                        r.paused_by = @started_by,
                        r.pause_reason = N'It was started to be looked at (@hold).'
                    FROM jobs_internal.rollouts AS r
                    WHERE r.execution_id = @execution_id
                        AND r.paused_at IS NULL; -- its deadline may have passed
                EXECUTE jobs_internal.hold_empty_waves
                    @execution_id = @execution_id,
                    @aborts = @aborts OUTPUT,
                    @reason = @reason OUTPUT,
                    @now = @now;
                IF @aborts = 1
                    SET @next = N'Aborting';
            END;
        END;
        ELSE IF @state = N'Starting' AND @wave > @waves
            SET @next = N'Succeeded';
        ELSE IF @state = N'Starting' AND (@wave_state = N'Skipped' OR (@targets = 0 AND @paused_at IS NULL))
        BEGIN
            UPDATE w
            SET w.state = CASE WHEN w.state = N'Skipped' THEN w.state ELSE N'Passed' END,
                w.ended_at = COALESCE(w.ended_at, @now),
                w.gate = COALESCE(w.gate, N'It has no targets.')
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
            SET @wave = @wave + 1;
            SET @again = 1;
        END;
        ELSE IF @state = N'Starting'
            EXECUTE jobs_internal.enter_wave
                @execution_id = @execution_id,
                @wave = @wave,
                @checked = @checked,
                @next = @next OUTPUT,
                @check_at = @check_at OUTPUT,
                @again = @again OUTPUT,
                @more = @more OUTPUT,
                @passed = @passed OUTPUT,
                @reason = @reason OUTPUT,
                @now = @now;
        ELSE IF @state = N'Preflight' AND @preflight_ended = 1
        BEGIN
            SET @read = @slice - @examined;
            EXECUTE jobs_internal.preflight_wave
                @execution_id = @execution_id,
                @wave = @wave,
                @slice = @read,
                @examined = @read OUTPUT,
                @more = @more OUTPUT,
                @passed = @checked OUTPUT,
                @reason = @reason OUTPUT,
                @now = @now;
            SET @examined = @examined + @read;
            IF @checked = 0
                SET @passed = 0;
            ELSE IF @checked = 1
            BEGIN
                SET @next = N'Starting';
                SET @again = 1;
            END;
            SET @checked = COALESCE(@checked, 0);
        END;
        ELSE IF @state = N'Running' AND @run_ended = 1
        BEGIN
            UPDATE r
            SET r.read_step = 0,
                r.read_target = 0
            FROM jobs_internal.rollouts AS r
            WHERE r.execution_id = @execution_id;
            SET @next = N'Recording';
            SET @again = 1;
        END;
        ELSE IF @state = N'Running'
            EXECUTE jobs_internal.stop_failing_wave @execution_id = @execution_id, @wave = @wave, @now = @now;
        ELSE IF @state = N'Recording'
        BEGIN
            SET @read = @slice - @examined;
            EXECUTE jobs_internal.finish_wave
                @execution_id = @execution_id,
                @wave = @wave,
                @run_id = @run_id,
                @slice = @read,
                @examined = @read OUTPUT,
                @complete = @complete OUTPUT,
                @passed = @passed OUTPUT,
                @reason = @reason OUTPUT,
                @now = @now;
            SET @examined = @examined + @read;
            SET @more = CASE WHEN @complete = 0 THEN 1 ELSE @more END;
            SET @again = @complete;
            SET @next = CASE WHEN @passed = 1 THEN N'Baking' ELSE @state END;
        END;
        ELSE IF @state = N'Baking' AND @bake_until <= @now AND @probe_job_id IS NULL
        BEGIN
            SET @passed = 1;
            SET @next = N'Starting';
        END;
        ELSE IF @state = N'Baking' AND (@bake_until <= @now OR @probe_at <= @now)
        BEGIN
            SET @tried_at = CASE WHEN @probe_at <= @now THEN @probe_at ELSE @bake_until END;
            -- The probe before it may have ended after this one was due.
            SET @tried_at = CASE WHEN @probe_end > @tried_at THEN @probe_end ELSE @tried_at END;
            EXECUTE jobs_internal.start_probe
                @execution_id = @execution_id,
                @wave = @wave,
                @tried_at = @tried_at,
                @next = @next OUTPUT,
                @check_at = @check_at OUTPUT,
                @more = @more OUTPUT,
                @passed = @passed OUTPUT,
                @reason = @reason OUTPUT,
                @now = @now;
        END;
        ELSE IF @state = N'Baking'
            SET @check_at = CASE WHEN @probe_at < @bake_until THEN @probe_at ELSE @bake_until END;
        ELSE IF @state = N'Probing' AND @probe_ended = 1
        BEGIN
            SET @again = 1;
            EXECUTE jobs_internal.finish_probe
                @execution_id = @execution_id,
                @wave = @wave,
                @lifecycle = @probe_lifecycle,
                @next = @next OUTPUT,
                @passed = @passed OUTPUT,
                @reason = @reason OUTPUT,
                @now = @now;
        END;
        ELSE IF @state = N'Stopped'
            SET @check_at = @deadline_at;
        ELSE IF @state = N'Aborting'
        BEGIN
            SET @read = @slice - @examined;
            SET @ended = CASE WHEN @run_ended = 1 AND @probe_ended = 1 AND @preflight_ended = 1 THEN 1 ELSE 0 END;
            EXECUTE jobs_internal.abort_wave
                @execution_id = @execution_id,
                @wave = @wave,
                @ended = @ended,
                @slice = @read,
                @examined = @read OUTPUT,
                @complete = @complete OUTPUT,
                @more = @more OUTPUT,
                @now = @now;
            SET @examined = @examined + @read;
            IF @complete = 1
                SET @next = CASE WHEN @stop_requested_at IS NULL THEN N'Failed' ELSE N'Aborted' END;
        END;

        IF @passed = 0
        BEGIN
            UPDATE w
            SET w.state = N'Stopped'
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
            SET @next = CASE WHEN @aborts = 1 THEN N'Aborting' ELSE N'Stopped' END;
        END;
        IF @passed = 1 AND @next = N'Starting'
        BEGIN
            UPDATE w
            SET w.state = N'Passed',
                w.ended_at = @now
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
            SET @wave = @wave + 1;
            SET @again = 1;
        END;

        SET @has_window = CASE
            WHEN @window_name IS NULL OR @wave <> @read_wave OR @next NOT IN (N'Starting', N'Preflight', N'Running') THEN 0
            WHEN @next = N'Starting' AND (@paused_at IS NOT NULL OR (@approval <> N'none' AND @approved_at IS NULL)) THEN 0
            ELSE 1
        END;
        UPDATE r
        SET r.state = @next,
            r.wave = @wave,
            r.next_check_at = CASE WHEN @next IN (N'Succeeded', N'Aborted', N'Failed') THEN NULL ELSE @check_at END,
            r.window_check_at = CASE WHEN @has_window = 1 THEN COALESCE(r.window_check_at, @now) END,
            r.window_open_until = CASE WHEN @has_window = 1 THEN r.window_open_until END,
            r.window_opens_at = CASE WHEN @has_window = 1 THEN r.window_opens_at END,
            r.window_fault = CASE WHEN @has_window = 1 THEN r.window_fault END,
            r.reason = COALESCE(@reason, r.reason),
            r.paused_at = CASE WHEN @next IN (N'Succeeded', N'Aborted', N'Failed') THEN NULL ELSE r.paused_at END,
            r.paused_by = CASE WHEN @next IN (N'Succeeded', N'Aborted', N'Failed') THEN NULL ELSE r.paused_by END,
            r.pause_reason = CASE WHEN @next IN (N'Succeeded', N'Aborted', N'Failed') THEN NULL ELSE r.pause_reason END,
            r.ended_at = CASE WHEN @next IN (N'Succeeded', N'Aborted', N'Failed') THEN @now END
        FROM jobs_internal.rollouts AS r
        WHERE r.execution_id = @execution_id
            -- A roll-out that stays due is not written in each pass.
            AND (
                r.state <> @next
                OR r.wave <> @wave
                OR COALESCE(r.next_check_at, '9999-12-31') > @now
                OR COALESCE(@check_at, '9999-12-31') > @now
                OR (@has_window = 1 AND r.window_check_at IS NULL)
            );
        IF @next IN (N'Succeeded', N'Aborted', N'Failed')
        BEGIN
            -- The next pass ends the run.
            UPDATE e
            SET e.parked = 0
            FROM jobs_internal.job_executions AS e
            WHERE e.execution_id = @execution_id
                AND e.is_active = 1;
            SET @again = 0;
            SET @more = 1;
        END;
    END;
    RETURN 0;
END;
