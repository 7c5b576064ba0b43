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
    DECLARE @wave INT;
    DECLARE @wave_name NVARCHAR(128);
    DECLARE @waves INT;
    DECLARE @deadline_at DATETIME2(7);
    DECLARE @paused_at DATETIME2(7);
    DECLARE @aborts BIT; -- a gate that fails aborts the roll-out
    DECLARE @cancels BIT;
    DECLARE @is_active BIT;
    DECLARE @lifecycle NVARCHAR(50);
    DECLARE @stop_requested_at DATETIME2(7);
    DECLARE @stop_requested_by NVARCHAR(128);
    DECLARE @starts NVARCHAR(10);
    DECLARE @started_by NVARCHAR(128);
    DECLARE @run_id BIGINT;
    DECLARE @run_ended BIT;
    DECLARE @preflight NVARCHAR(10); -- what a target that fails it does
    DECLARE @preflight_run_id BIGINT;
    DECLARE @preflight_ended BIT;
    DECLARE @checked BIT = 0; -- the preflight of the wave has just passed
    DECLARE @probe_run_id BIGINT;
    DECLARE @probe_ended BIT;
    DECLARE @probe_lifecycle NVARCHAR(50);
    DECLARE @probe_started BIT;
    DECLARE @targets INT;
    DECLARE @approval NVARCHAR(10);
    DECLARE @approved_at DATETIME2(7);
    DECLARE @wave_state NVARCHAR(10);
    DECLARE @max_failed INT;
    DECLARE @max_unknown INT;
    DECLARE @failed INT;
    DECLARE @unknown INT;
    DECLARE @bake_until DATETIME2(7);
    DECLARE @probe_job_id UNIQUEIDENTIFIER;
    DECLARE @probe_at DATETIME2(7);
    DECLARE @probe_every INT;
    DECLARE @before_due BIT; -- the probe before the wave must run
    DECLARE @is_before BIT;
    DECLARE @complete BIT;
    DECLARE @read INT;
    DECLARE @passed BIT;
    DECLARE @window_name NVARCHAR(128);
    DECLARE @open_until DATETIME2(7);
    DECLARE @read_wave INT;
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
            @open_until = r.window_open_until,
            @read_wave = r.wave,
            @aborts = CASE WHEN r.on_gate_failure = N'abort' THEN 1 ELSE 0 END,
            @cancels = r.cancels_running,
            @preflight = r.preflight,
            @is_active = e.is_active,
            @lifecycle = e.lifecycle,
            @stop_requested_at = e.stop_requested_at,
            @stop_requested_by = e.stop_requested_by,
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
        SET @before_due = 0;
        SET @window_name = NULL;
        SELECT
            @wave_name = w.name,
            @wave_state = w.state,
            @targets = w.targets,
            @approval = w.approval,
            @approved_at = w.approved_at,
            @window_name = w.window_name,
            @max_failed = w.max_failed,
            @max_unknown = w.max_unknown,
            @bake_until = w.bake_until,
            @probe_job_id = w.probe_job_id,
            @probe_every = w.probe_every_seconds,
            @probe_at = w.probe_at,
            @run_id = w.run_id,
            @probe_run_id = w.probe_run_id,
            @preflight_run_id = w.preflight_run_id,
            @before_due = CASE
                WHEN w.run_id IS NULL AND COALESCE(w.probe_min_percent, w.probe_max_percent) IS NOT NULL THEN 1
                ELSE 0
            END
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        -- A run that another session holds, with a stop request that is not committed, counts as active. Plan: a key each.
        SET @run_ended = CASE WHEN @run_id IS NULL THEN 1 ELSE 0 END;
        SELECT @run_ended = 1 - e.is_active
        FROM jobs_internal.job_executions AS e WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- past: as the comment says
        WHERE e.execution_id = @run_id;
        SET @probe_ended = CASE WHEN @probe_run_id IS NULL THEN 1 ELSE 0 END;
        SET @probe_lifecycle = NULL;
        SELECT
            @probe_ended = 1 - e.is_active,
            @probe_lifecycle = e.lifecycle
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
            SET @reason = N'Its targets were not resolved.';
        END;
        ELSE IF @stop_requested_at IS NOT NULL AND @state <> N'Aborting'
        BEGIN
            SET @next = N'Aborting';
            SET @reason = CONCAT(N'Aborted by ', @stop_requested_by, N'.');
            SET @again = 1;
        END;
        ELSE IF @state = N'Planning'
        BEGIN
            -- Its steps have lists, and nothing of them runs. Plan: the range of UQ_step_executions_step_id of the run.
            IF NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.execution_id = @execution_id AND s.is_active = 1)
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_executions AS e
                    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version
                    WHERE e.execution_id = @execution_id
                        AND NOT EXISTS (
                            SELECT 1
                            FROM jobs_internal.step_executions AS s
                            WHERE s.execution_id = e.execution_id
                                AND s.step_id = d.step_id
                        )
                )
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.step_executions AS s
                    WHERE s.execution_id = @execution_id
                        AND s.lifecycle IN (N'Failed', N'TimedOut', N'Canceled')
                )
                EXECUTE jobs_internal.add_rollout_waves @execution_id = @execution_id, @complete = @complete OUTPUT, @now = @now;
            IF @complete = 1
            BEGIN
                UPDATE e
                SET e.lifecycle = N'WaitingForChildJobExecutions',
                    e.parked = 1,
                    e.last_message = N'The roll-out assigns its targets to waves.'
                FROM jobs_internal.job_executions AS e
                WHERE e.execution_id = @execution_id;
                SET @next = N'Assigning';
                SET @again = 1;
            END;
        END;
        ELSE IF @deadline_at <= @now AND @state <> N'Aborting'
        BEGIN
            -- Once: a person who lets it go on knows that the deadline has passed.
            UPDATE r
            SET r.deadline_at = NULL,
                r.paused_at = CASE WHEN @aborts = 1 THEN r.paused_at ELSE COALESCE(r.paused_at, @now) END,
                r.paused_by = CASE WHEN @aborts = 1 THEN r.paused_by ELSE COALESCE(r.paused_by, N'(deadline)') END,
                r.pause_reason = CASE
                    WHEN @aborts = 1 THEN r.pause_reason
                    ELSE CONCAT(N'The deadline ', CONVERT(NVARCHAR(19), @deadline_at, 126), N'Z of the plan has passed.')
                END
            FROM jobs_internal.rollouts AS r
            WHERE r.execution_id = @execution_id;
            IF @aborts = 1
            BEGIN
                SET @next = N'Aborting';
                SET @reason = CONCAT(N'The deadline ', CONVERT(NVARCHAR(19), @deadline_at, 126), N'Z of the plan has passed.');
            END;
            SET @again = 1;
        END;
        ELSE IF @state = N'Assigning'
        BEGIN
            SET @read = @slice - @examined;
            EXECUTE jobs_internal.assign_rollout_targets
                @execution_id = @execution_id,
                @slice = @read,
                @examined = @read OUTPUT,
                @complete = @complete OUTPUT;
            SET @examined = @examined + @read;
            IF @complete = 0
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
                    WHERE r.execution_id = @execution_id;
            END;
        END;
        ELSE IF @state = N'Starting' AND @wave > @waves
            SET @next = N'Succeeded';
        ELSE IF @state = N'Starting' AND (@wave_state = N'Skipped' OR @targets = 0)
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
        BEGIN
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
            -- The answer that the window is open makes the roll-out due.
            ELSE IF @window_name IS NOT NULL AND (@open_until IS NULL OR @open_until <= @now)
                SET @check_at = @deadline_at;
            ELSE IF @before_due = 1
            BEGIN
                EXECUTE jobs_internal.start_wave
                    @execution_id = @execution_id,
                    @wave = @wave,
                    @is_probe = 1,
                    @started = @probe_started OUTPUT,
                    @now = @now;
                IF @probe_started = 1
                    SET @next = N'Probing';
                ELSE
                BEGIN
                    SET @check_at = DATEADD(SECOND, 1, @now); -- another session may hold the job
                    IF @probe_at <= DATEADD(MINUTE, -1, @now)
                    BEGIN
                        SET @passed = 0;
                        SET @reason = CONCAT(N'Wave ''', @wave_name, N''': its probe job does not exist.');
                    END;
                    UPDATE w
                    SET w.probe_at = CASE WHEN @passed IS NULL THEN COALESCE(w.probe_at, @now) END
                    FROM jobs_internal.rollout_waves AS w
                    WHERE w.execution_id = @execution_id
                        AND w.wave = @wave;
                END;
                SET @more = @probe_started;
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
        END;
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
        BEGIN
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
        END;
        ELSE IF @state = N'Recording'
        BEGIN
            SET @read = @slice - @examined;
            EXECUTE jobs_internal.record_wave
                @execution_id = @execution_id,
                @wave = @wave,
                @run_id = @run_id,
                @slice = @read,
                @examined = @read OUTPUT,
                @complete = @complete OUTPUT;
            SET @examined = @examined + @read;
            IF @complete = 0
                SET @more = 1;
            ELSE
            BEGIN
                EXECUTE jobs_internal.judge_wave
                    @execution_id = @execution_id,
                    @wave = @wave,
                    @passed = @passed OUTPUT,
                    @reason = @reason OUTPUT,
                    @now = @now;
                SET @again = 1;
                SET @next = CASE WHEN @passed = 1 THEN N'Baking' ELSE @state END;
            END;
        END;
        ELSE IF @state = N'Baking' AND @bake_until <= @now AND @probe_job_id IS NULL
        BEGIN
            SET @passed = 1;
            SET @next = N'Starting';
        END;
        ELSE IF @state = N'Baking' AND (@bake_until <= @now OR @probe_at <= @now)
        BEGIN
            EXECUTE jobs_internal.start_wave
                @execution_id = @execution_id,
                @wave = @wave,
                @is_probe = 1,
                @started = @probe_started OUTPUT,
                @now = @now;
            IF @probe_started = 1
                SET @next = N'Probing';
            ELSE IF CASE WHEN @probe_at < @bake_until THEN @probe_at ELSE @bake_until END > DATEADD(MINUTE, -1, @now)
                SET @check_at = DATEADD(SECOND, 1, @now); -- another session may hold the job
            ELSE
            BEGIN
                SET @passed = 0;
                SET @reason = CONCAT(N'Wave ''', @wave_name, N''': its probe job does not exist.');
            END;
            SET @more = @probe_started;
        END;
        ELSE IF @state = N'Baking'
            SET @check_at = CASE WHEN @probe_at < @bake_until THEN @probe_at ELSE @bake_until END;
        ELSE IF @state = N'Probing' AND @probe_ended = 1
        BEGIN
            SET @again = 1;
            SET @is_before = CASE WHEN @wave_state = N'Baking' THEN 0 ELSE 1 END;
            IF @wave_state = N'Skipped'
                SET @next = N'Starting';
            ELSE IF @probe_lifecycle <> N'Succeeded'
                OR NOT EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.execution_id = @probe_run_id)
            BEGIN
                SET @passed = 0;
                SET @reason = CONCAT(
                    N'Wave ''', @wave_name, N''': its probe ', CASE WHEN @is_before = 1 THEN N'before it ' END,
                    CASE WHEN @probe_lifecycle = N'Succeeded' THEN N'had no target.' ELSE CONCAT(N'ended as ', @probe_lifecycle, N'.') END
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
            ELSE IF @passed = 1 AND @probe_at IS NULL -- it was the last one
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
        END;
        ELSE IF @state = N'Stopped'
            SET @check_at = @deadline_at;
        ELSE IF @state = N'Aborting'
        BEGIN
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
            IF @run_ended = 1 AND @probe_ended = 1 AND @preflight_ended = 1
                SET @complete = 1;
            -- What the wave has done is recorded first, so that an undo finds it. A run has larger step_execution_ids than those before
            -- it, so this goes on from what was read.
            IF @complete = 1 AND @wave_state = N'Running'
            BEGIN
                SET @read = @slice - @examined;
                EXECUTE jobs_internal.record_wave
                    @execution_id = @execution_id,
                    @wave = @wave,
                    @run_id = @run_id,
                    @slice = @read,
                    @examined = @read OUTPUT,
                    @complete = @complete OUTPUT;
                SET @examined = @examined + @read;
                IF @complete = 0
                    SET @more = 1;
                ELSE
                BEGIN
                    EXECUTE jobs_internal.judge_wave @execution_id = @execution_id, @wave = @wave, @now = @now;
                    UPDATE w
                    SET w.state = N'Stopped',
                        w.bake_until = NULL,
                        w.probe_at = NULL
                    FROM jobs_internal.rollout_waves AS w
                    WHERE w.execution_id = @execution_id
                        AND w.wave = @wave;
                END;
            END;
            IF @complete = 1 AND @wave_state = N'Preflight'
                UPDATE w
                SET w.state = CASE WHEN w.run_id IS NULL THEN N'Pending' ELSE N'Stopped' END
                FROM jobs_internal.rollout_waves AS w
                WHERE w.execution_id = @execution_id
                    AND w.wave = @wave;
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
