-- Moves on the preflight of a wave: a run in mode Preflight over the targets that the next run of the wave has. It starts that run, and,
-- when it has ended, records the next slice of what it found, and then says whether the wave may start. A target that was not checked has
-- failed.
--
-- A run of several steps ends with the first step that fails, so with leave_out, another run checks the targets that are left, until one
-- comes to all steps. A wave that has run leaves out none: its targets may have changed.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave, whose preflight has not started, or whose preflight run has ended.
--   @slice         Maximum number of targets that are read or changed, at least 1.
--   @examined      Output. Number of targets that were.
--   @more          Output. 1: there is more to do, so the next pass should follow at once.
--   @passed        Output. 1: the wave may start; 0: it may not; NULL: it is not known yet.
--   @reason        Output. Why it may not, in words.
-- Called by: jobs_internal.advance_rollout.
-- Locks:     the roll-out, its wave and targets (X); an insert into job_executions.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.preflight_wave
    @execution_id BIGINT,
    @wave         INT,
    @slice        INT = 5000,
    @examined     INT = 0 OUTPUT,
    @more         BIT = 0 OUTPUT,
    @passed       BIT = NULL OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    SET @examined = 0;
    SET @more = 0;
    SET @passed = NULL;
    SET @reason = NULL;
    DECLARE @action NVARCHAR(10); -- what a target that fails does
    DECLARE @options NVARCHAR(400);
    DECLARE @read_step BIGINT;
    DECLARE @read_target BIGINT;
    DECLARE @name NVARCHAR(128);
    DECLARE @targets INT;
    DECLARE @run_id BIGINT; -- of the wave
    DECLARE @preflight_run_id BIGINT;
    DECLARE @failed INT;
    DECLARE @left_out INT;
    DECLARE @lifecycle NVARCHAR(50);
    DECLARE @is_complete BIT; -- the run came to all steps
    DECLARE @starts BIT = 0;
    DECLARE @rows INT;
    DECLARE @found INT;
    DECLARE @read TABLE (
        step_execution_id   BIGINT NOT NULL,
        target_execution_id BIGINT NOT NULL,
        target_id           UNIQUEIDENTIFIER NOT NULL,
        finding             NVARCHAR(400) NULL, -- NULL: it passed
        PRIMARY KEY (step_execution_id, target_execution_id)
    );
    DECLARE @findings TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, finding NVARCHAR(400) NOT NULL);
    DECLARE @earlier TABLE (place INT NOT NULL, target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, is_left_out BIT NOT NULL);

    SELECT
        @action = r.preflight,
        @options = r.preflight_options,
        @read_step = r.read_step,
        @read_target = r.read_target,
        @name = w.name,
        @targets = w.targets,
        @run_id = w.run_id,
        @preflight_run_id = w.preflight_run_id,
        @failed = COALESCE(w.preflight_failed, 0),
        @left_out = w.left_out
    FROM jobs_internal.rollouts AS r
    INNER JOIN jobs_internal.rollout_waves AS w ON w.execution_id = r.execution_id
    WHERE r.execution_id = @execution_id
        AND w.wave = @wave;

    IF @preflight_run_id IS NULL
    BEGIN
        -- What an earlier preflight found. Plan: a range of IX_rollout_targets_wave with a lookup each.
        IF @failed > 0
        BEGIN
            INSERT INTO @earlier (place, target_id, is_left_out)
            SELECT TOP (@slice) t.place, t.target_id, CASE WHEN t.state = N'LeftOut' AND @run_id IS NULL THEN 1 ELSE 0 END
            FROM jobs_internal.rollout_targets AS t
            WHERE t.execution_id = @execution_id
                AND t.wave = @wave
                AND t.place > @read_target
            ORDER BY t.place;
            SET @rows = @@ROWCOUNT;
            UPDATE t
            SET t.state = CASE WHEN b.is_left_out = 1 THEN N'Pending' ELSE t.state END,
                t.preflight = NULL
            FROM @earlier AS b
            INNER LOOP JOIN jobs_internal.rollout_targets AS t ON t.execution_id = @execution_id AND t.target_id = b.target_id
            WHERE t.preflight IS NOT NULL
                AND (b.is_left_out = 1 OR t.state <> N'LeftOut');
            SET @left_out = @left_out - (SELECT COUNT(*) FROM @earlier AS b WHERE b.is_left_out = 1);
            UPDATE w
            SET w.left_out = @left_out
            FROM jobs_internal.rollout_waves AS w
            WHERE w.execution_id = @execution_id
                AND w.wave = @wave;
            SET @examined = @rows;
            IF @rows = @slice
            BEGIN
                UPDATE r
                SET r.read_target = (SELECT MAX(b.place) FROM @earlier AS b)
                FROM jobs_internal.rollouts AS r
                WHERE r.execution_id = @execution_id
                    AND @rows > 0;
                SET @more = 1;
                RETURN 0;
            END;
        END;
        UPDATE w
        SET w.preflight_failed = 0
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        SET @starts = 1;
    END;
    ELSE
    BEGIN
        SET @lifecycle = (SELECT e.lifecycle FROM jobs_internal.job_executions AS e WHERE e.execution_id = @preflight_run_id);
        -- Plan: a range of IX_target_executions_execution_id with a lookup each.
        INSERT INTO @read (step_execution_id, target_execution_id, target_id, finding)
        SELECT TOP (@slice)
            t.step_execution_id, t.target_execution_id, t.target_id,
            CASE -- LEFT may count a pair of UTF-16 as one
                WHEN t.lifecycle <> N'Succeeded' THEN CAST(COALESCE(t.last_message, t.lifecycle) AS NVARCHAR(400))
            END
        FROM jobs_internal.target_executions AS t
        WHERE t.execution_id = @preflight_run_id
            AND t.step_execution_id >= @read_step
            AND (t.step_execution_id > @read_step OR t.target_execution_id > @read_target)
        ORDER BY t.step_execution_id, t.target_execution_id;
        SET @rows = @@ROWCOUNT;
        INSERT INTO @findings (target_id, finding)
        SELECT r.target_id, MIN(r.finding)
        FROM @read AS r
        WHERE r.finding IS NOT NULL
        GROUP BY r.target_id;
        UPDATE t
        SET t.state = CASE WHEN @action = N'leave_out' AND @run_id IS NULL THEN N'LeftOut' ELSE t.state END,
            t.preflight = f.finding
        FROM @findings AS f
        INNER LOOP JOIN jobs_internal.rollout_targets AS t ON t.execution_id = @execution_id AND t.target_id = f.target_id
        WHERE t.wave = @wave
            AND t.preflight IS NULL;
        SET @found = @@ROWCOUNT;
        SET @failed = @failed + @found;
        SET @left_out = @left_out + CASE WHEN @action = N'leave_out' AND @run_id IS NULL THEN @found ELSE 0 END;
        SET @examined = @rows + 1;
        UPDATE w
        SET w.preflight_failed = @failed,
            w.left_out = @left_out
        FROM jobs_internal.rollout_waves AS w
        WHERE w.execution_id = @execution_id
            AND w.wave = @wave;
        IF @rows > 0
            UPDATE r
            SET r.read_step = l.step_execution_id,
                r.read_target = l.target_execution_id
            FROM (
                SELECT TOP (1) w.step_execution_id, w.target_execution_id
                FROM @read AS w
                ORDER BY w.step_execution_id DESC, w.target_execution_id DESC
            ) AS l
            CROSS JOIN jobs_internal.rollouts AS r
            WHERE r.execution_id = @execution_id;
        IF @rows = @slice
        BEGIN
            SET @more = 1;
            RETURN 0;
        END;

        -- Actions are Skipped in a preflight.
        SET @is_complete = CASE
            WHEN @lifecycle IN (N'Succeeded', N'SucceededWithSkipped') THEN 1
            WHEN @lifecycle = N'Canceled' THEN 0
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version
                WHERE e.execution_id = @preflight_run_id
                    AND NOT EXISTS (
                        SELECT 1
                        FROM jobs_internal.step_executions AS s
                        WHERE s.execution_id = e.execution_id
                            AND s.step_id = d.step_id
                            AND (s.resolved_at IS NOT NULL OR s.lifecycle = N'Skipped')
                    )
            ) THEN 0
            ELSE 1
        END;
        SET @reason = CASE
            WHEN @action = N'warn' THEN NULL
            WHEN @lifecycle = N'Canceled' THEN N'its preflight was canceled'
            WHEN @failed > 0 AND (@action = N'refuse' OR @run_id IS NOT NULL) THEN CONCAT(
                @failed, N' of ', @targets, N' targets failed the preflight',
                CASE WHEN @action = N'leave_out' THEN N', and a wave that has run leaves out none' END
            )
            WHEN @left_out = @targets THEN CONCAT(N'none of its ', @targets, N' targets passed the preflight')
            WHEN @is_complete = 0
                -- Plan: IX_target_executions_failed.
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.target_executions AS t
                    WHERE t.execution_id = @preflight_run_id
                        AND t.lifecycle IN (N'Failed', N'TimedOut')
                )
                THEN CONCAT(N'its preflight ended as ', @lifecycle, N' before it came to all steps')
        END;
        SET @passed = CASE WHEN @reason IS NOT NULL THEN 0 WHEN @action = N'warn' OR @is_complete = 1 THEN 1 END;
        SET @starts = CASE WHEN @passed IS NULL THEN 1 ELSE 0 END;
    END;

    IF @starts = 1
    BEGIN
        -- Its step lists are those that the next run of the wave has. It counts as a probe: the limits of the wave do not hold it.
        -- rows: one
        INSERT INTO jobs_internal.job_executions (
            job_execution_id, job_id, job_version, lifecycle, is_active, create_time, started_by, payload_id, traceparent,
            rerun_of, rerun_only, rerun_partial, rollout_of, rollout_wave, rollout_probe, mode, mode_options, last_message
        )
        SELECT
            NEWID(), e.job_id, e.job_version, N'Created', 1, @now, e.started_by, e.payload_id, e.traceparent,
            COALESCE(@run_id, @execution_id),
            CASE WHEN @run_id IS NULL THEN N'Skipped' ELSE N'Failed,TimedOut,Canceled,Skipped,Unknown' END,
            0, @execution_id, @wave, 1, N'Preflight', @options,
            CONCAT(N'Preflight created for the wave ''', @name, N''' of the roll-out ', e.job_execution_id, N'.')
        FROM jobs_internal.job_executions AS e
        WHERE e.execution_id = @execution_id;
        SET @preflight_run_id = SCOPE_IDENTITY();
        UPDATE r
        SET r.read_step = 0,
            r.read_target = 0
        FROM jobs_internal.rollouts AS r
        WHERE r.execution_id = @execution_id;
        SET @more = 1;
    END;

    -- The percentages of a plan are those of the targets that start.
    UPDATE w
    SET w.state = CASE
            WHEN @passed IS NULL THEN w.state
            WHEN @passed = 0 OR @run_id IS NOT NULL THEN N'Stopped'
            ELSE N'Pending'
        END,
        w.preflight_run_id = @preflight_run_id,
        w.max_failed = CASE
            WHEN @passed IS NULL OR w.max_failed_percent IS NULL THEN w.max_failed
            ELSE w.max_failed_percent * (w.targets - w.left_out) / 100
        END,
        w.max_unreached = CASE
            WHEN @passed IS NULL OR w.max_unreached_percent IS NULL THEN w.max_unreached
            ELSE w.max_unreached_percent * (w.targets - w.left_out) / 100
        END,
        w.gate = CASE WHEN @passed = 0 THEN CONCAT(N'Not started: ', @reason, N'.') ELSE w.gate END
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;
    IF @passed = 0
        SET @reason = CONCAT(N'Wave ''', @name, N''': ', @reason, N'.');
    RETURN 0;
END;
