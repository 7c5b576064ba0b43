-- Evaluates the gates of a wave, when what became of its targets is recorded. A gate that cannot be evaluated has failed.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @passed        Output. 1: all gates have passed, and the bake of the wave has begun.
--   @reason        Output. Why not, in words; NULL: they have.
-- Called by: jobs_internal.finish_wave.
-- Locks:     the wave (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.judge_wave
    @execution_id BIGINT,
    @wave         INT,
    @passed       BIT = 0 OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @name NVARCHAR(128);
    DECLARE @targets INT;
    DECLARE @succeeded INT;
    DECLARE @failed INT;
    DECLARE @unknown INT;
    DECLARE @unreached INT;
    DECLARE @max_failed INT;
    DECLARE @max_unknown INT;
    DECLARE @max_unreached INT;
    DECLARE @max_duration INT;
    DECLARE @run_id BIGINT;
    DECLARE @median BIGINT;
    DECLARE @usual BIGINT;
    DECLARE @durations TABLE (milliseconds BIGINT NOT NULL, turn INT NOT NULL PRIMARY KEY);

    SELECT
        @name = w.name,
        @targets = w.targets - w.left_out,
        @max_failed = w.max_failed,
        @max_unknown = w.max_unknown,
        @max_unreached = w.max_unreached,
        @max_duration = w.max_duration_percent,
        @run_id = w.run_id
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;
    -- reads: the targets of one wave, once
    -- Plan: a range of IX_rollout_targets_wave, which holds the state.
    SELECT
        @succeeded = COALESCE(SUM(CASE WHEN t.state = N'Succeeded' THEN 1 ELSE 0 END), 0),
        @failed = COALESCE(SUM(CASE WHEN t.state IN (N'Failed', N'Unknown') THEN 1 ELSE 0 END), 0),
        @unknown = COALESCE(SUM(CASE WHEN t.state = N'Unknown' THEN 1 ELSE 0 END), 0),
        @unreached = COALESCE(SUM(CASE WHEN t.state IN (N'Unreached', N'Pending') THEN 1 ELSE 0 END), 0)
    FROM jobs_internal.rollout_targets AS t
    WHERE t.execution_id = @execution_id
        AND t.wave = @wave;

    IF @max_duration IS NOT NULL
    BEGIN
        -- Of the first 1,000 targets that succeeded in the wave, and of 1,000 of the latest ones of the job before the roll-out.
        INSERT INTO @durations (milliseconds, turn)
        SELECT d.milliseconds, ROW_NUMBER() OVER (ORDER BY d.milliseconds)
        FROM (
            SELECT TOP (1000) DATEDIFF_BIG(MILLISECOND, t.start_time, t.end_time) AS milliseconds
            FROM jobs_internal.target_executions AS t
            WHERE t.execution_id = @run_id
                AND t.lifecycle = N'Succeeded'
            ORDER BY t.step_execution_id, t.target_execution_id
        ) AS d;
        SET @median = (SELECT d.milliseconds FROM @durations AS d WHERE d.turn = (SELECT (COUNT(*) + 1) / 2 FROM @durations));
        DELETE FROM @durations;
        -- Plan: the ended runs of the job, from the latest one on, and the start of a range of IX_target_executions_execution_id each.
        -- No index has the order of one list of them all (the latest run first, but its first target first), so SQL Server would read all
        -- targets and sort them. The own run of an earlier roll-out has only targets that were Skipped.
        INSERT INTO @durations (milliseconds, turn)
        SELECT d.milliseconds, ROW_NUMBER() OVER (ORDER BY d.milliseconds)
        FROM (
            SELECT TOP (1000) t.milliseconds
            FROM (
                SELECT TOP (20) o.execution_id
                FROM jobs_internal.job_executions AS e
                INNER JOIN jobs_internal.job_executions AS o ON o.job_id = e.job_id
                WHERE e.execution_id = @execution_id
                    AND o.create_time < e.create_time
                    AND o.is_active = 0
                    AND o.mode IS NULL -- trials and preflights take another time
                ORDER BY o.create_time DESC
            ) AS o
            CROSS APPLY (
                SELECT TOP (1000)
                    DATEDIFF_BIG(MILLISECOND, x.start_time, x.end_time) AS milliseconds, x.step_execution_id, x.target_execution_id
                FROM jobs_internal.target_executions AS x
                WHERE x.execution_id = o.execution_id
                    AND x.lifecycle = N'Succeeded'
                    AND NOT EXISTS (SELECT 1 FROM jobs_internal.rollouts AS r WHERE r.execution_id = o.execution_id)
                ORDER BY x.step_execution_id, x.target_execution_id
            ) AS t
            ORDER BY o.execution_id DESC, t.step_execution_id, t.target_execution_id
        ) AS d;
        SET @usual = (SELECT d.milliseconds FROM @durations AS d WHERE d.turn = (SELECT (COUNT(*) + 1) / 2 FROM @durations));
    END;

    SET @reason = CASE
        WHEN @unknown > @max_unknown THEN CONCAT(
            N'the outcome is unknown on ', @unknown, N' of ', @targets, N' targets, and ', @max_unknown, N' may be'
        )
        WHEN @failed > @max_failed THEN CONCAT(@failed, N' of ', @targets, N' targets failed, and ', @max_failed, N' may fail')
        WHEN @unreached > @max_unreached THEN CONCAT(
            @unreached, N' of ', @targets, N' targets were not reached, and ', @max_unreached, N' may be left out'
        )
        WHEN @max_duration IS NOT NULL AND (@median IS NULL OR @usual IS NULL)
            THEN N'its duration cannot be compared, because there are no earlier runs, or none of its targets succeeded'
        WHEN @median * 100 > @usual * @max_duration THEN CONCAT(
            N'its targets took ', @median, N' ms (median), and ', @max_duration, N' % of the usual ', @usual, N' ms are permitted'
        )
    END;
    SET @passed = CASE WHEN @reason IS NULL THEN 1 ELSE 0 END;
    UPDATE w
    SET w.state = CASE WHEN @passed = 1 THEN N'Baking' ELSE w.state END,
        w.bake_until = CASE WHEN @passed = 1 THEN DATEADD(SECOND, w.bake_seconds, @now) END,
        w.probe_at = CASE WHEN @passed = 1 THEN DATEADD(SECOND, w.probe_every_seconds, @now) END,
        w.succeeded = @succeeded,
        w.failed = @failed,
        w.unknown = @unknown,
        w.unreached = @unreached,
        w.median_ms = @median,
        w.usual_ms = @usual,
        w.gate = CONCAT(
            @succeeded, N' of ', @targets, N' targets succeeded',
            N'; ' + CAST(NULLIF(@failed, 0) AS NVARCHAR(12)) + N' failed',
            N'; ' + CAST(NULLIF(@unknown, 0) AS NVARCHAR(12)) + N' of them with an unknown outcome',
            N'; ' + CAST(NULLIF(@unreached, 0) AS NVARCHAR(12)) + N' not reached',
            N'; ' + CAST(NULLIF(w.left_out, 0) AS NVARCHAR(12)) + N' left out', N'.'
        ),
        w.probe_gate = NULL
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;
    IF @passed = 0
        SET @reason = CONCAT(N'Wave ''', @name, N''': ', @reason, N'.');
    RETURN 0;
END;
