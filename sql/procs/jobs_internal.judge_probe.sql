-- Compares what the latest probe of a wave returned on each of its targets with the limits of the plan. A target of which nothing is known
-- breaks them, and so does a value that is NULL or no number.
--
-- Parameters:
--   @execution_id  The roll-out's own run; the caller has locked the row of the roll-out.
--   @wave          Number of the wave.
--   @is_before     1: the probe ran before the wave, for the limits in percent: each target must have a number of 0 or more.
--   @passed        Output. 1: no target breaks a limit, or there are none.
--   @reason        Output. How many targets break them and the worst one, in words; NULL: none.
-- Called by: jobs_internal.finish_probe.
-- Locks:     the wave (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.judge_probe
    @execution_id BIGINT,
    @wave         INT,
    @is_before    BIT = 0,
    @passed       BIT = 0 OUTPUT,
    @reason       NVARCHAR(2000) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @name NVARCHAR(128);
    DECLARE @check NVARCHAR(400);
    DECLARE @max_rows INT;
    DECLARE @min_value BIGINT;
    DECLARE @max_value BIGINT;
    DECLARE @min_percent DECIMAL(5, 0);
    DECLARE @max_percent DECIMAL(5, 0);
    DECLARE @hundred DECIMAL(3, 0) = 100;
    DECLARE @run_id BIGINT;
    DECLARE @before_run_id BIGINT;
    DECLARE @has_value BIT; -- a number is compared
    DECLARE @targets INT;
    DECLARE @broken INT;
    DECLARE @fault INT; -- of the worst target
    DECLARE @target NVARCHAR(400);
    DECLARE @rows BIGINT;
    DECLARE @most_rows BIGINT;
    DECLARE @value DECIMAL(28, 6);
    DECLARE @before DECIMAL(28, 6);
    DECLARE @least DECIMAL(28, 6);
    DECLARE @most DECIMAL(28, 6);
    DECLARE @value_text NVARCHAR(40);
    DECLARE @before_text NVARCHAR(40);
    DECLARE @least_text NVARCHAR(40);
    DECLARE @most_text NVARCHAR(40);
    DECLARE @found NVARCHAR(1000);

    SELECT
        @name = w.name,
        @check = w.probe_check,
        @max_rows = w.probe_max_rows,
        @min_value = w.probe_min_value,
        @max_value = w.probe_max_value,
        @min_percent = w.probe_min_percent,
        @max_percent = w.probe_max_percent,
        @run_id = w.probe_run_id,
        @before_run_id = w.before_run_id
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;
    SET @passed = 1;
    SET @reason = NULL;
    IF @check IS NULL
        RETURN 0;
    SET @has_value = CASE WHEN COALESCE(@min_value, @max_value, @min_percent, @max_percent) IS NULL THEN 0 ELSE 1 END;
    SET @broken = NULL;

    -- The worst target, and figures of all.
    -- reads: the targets of one wave, once
    -- Plan: a range of IX_rollout_targets_wave, and per target two keys of rollout_probe_values.
    WITH figures AS (
        SELECT
            t.server_name,
            t.database_name,
            t.place,
            v.row_count,
            v.value,
            b.value AS before,
            CASE
                WHEN v.target_id IS NULL THEN 1
                WHEN @is_before = 0 AND v.row_count > @max_rows THEN 2
                WHEN @has_value = 1 AND v.value IS NULL THEN 3
                WHEN @is_before = 1 AND v.value < 0 THEN 4
                WHEN @is_before = 1 THEN NULL
                WHEN COALESCE(@min_percent, @max_percent) IS NOT NULL AND b.value IS NULL THEN 5
                WHEN v.value > @max_value THEN 6
                WHEN v.value < @min_value THEN 7
                WHEN v.value * @hundred > b.value * @max_percent THEN 8
                WHEN v.value * @hundred < b.value * @min_percent THEN 9
            END AS fault
        FROM jobs_internal.rollout_targets AS t
        LEFT JOIN jobs_internal.rollout_probe_values AS v ON v.execution_id = @run_id AND v.target_id = t.target_id
        LEFT JOIN jobs_internal.rollout_probe_values AS b ON b.execution_id = @before_run_id AND b.target_id = t.target_id
        WHERE t.execution_id = @execution_id
            AND t.wave = @wave
            AND t.state <> N'LeftOut'
    )
    SELECT TOP (1)
        @targets = COUNT(*) OVER (),
        @broken = COUNT(f.fault) OVER (),
        @most_rows = MAX(f.row_count) OVER (),
        @least = MIN(f.value) OVER (),
        @most = MAX(f.value) OVER (),
        @fault = f.fault,
        @target = CONCAT(f.server_name, N'/', f.database_name),
        @rows = f.row_count,
        @value = f.value,
        @before = f.before
    FROM figures AS f
    ORDER BY
        CASE WHEN f.fault IS NULL THEN 1 ELSE 0 END,
        f.fault,
        CASE
            WHEN f.fault = 2 THEN CAST(f.row_count AS FLOAT)
            WHEN f.fault = 6 THEN CAST(f.value AS FLOAT)
            WHEN f.fault IN (4, 7) THEN -CAST(f.value AS FLOAT)
            WHEN f.fault IN (8, 9) AND f.before = 0 THEN 1E300
            WHEN f.fault = 8 THEN CAST(f.value AS FLOAT) / CAST(f.before AS FLOAT)
            WHEN f.fault = 9 THEN -CAST(f.value AS FLOAT) / CAST(f.before AS FLOAT)
        END DESC,
        f.place;
    SET @passed = CASE WHEN @broken = 0 THEN 1 ELSE 0 END; -- NULL: the wave has no targets

    SELECT
        @value_text = MAX(CASE n.number WHEN 1 THEN d.text END),
        @before_text = MAX(CASE n.number WHEN 2 THEN d.text END),
        @least_text = MAX(CASE n.number WHEN 3 THEN d.text END),
        @most_text = MAX(CASE n.number WHEN 4 THEN d.text END)
    FROM (VALUES (1, @value), (2, @before), (3, @least), (4, @most)) AS n (number, value)
    CROSS APPLY (
        SELECT CASE
            WHEN n.value = FLOOR(n.value) THEN CAST(CAST(n.value AS DECIMAL(28, 0)) AS NVARCHAR(40))
            ELSE REPLACE(RTRIM(REPLACE(CAST(n.value AS NVARCHAR(40)), N'0', N' ')), N' ', N'0')
        END AS text
    ) AS d;
    SET @found = CASE
        WHEN @broken IS NULL THEN N'it had no target'
        WHEN @broken > 0 THEN CONCAT(
            @broken, N' of ', @targets, CASE @targets WHEN 1 THEN N' target' ELSE N' targets' END, N' broke the limits (',
            CASE WHEN @is_before = 1 THEN N'a number of at least 0' ELSE @check END, N'); ',
            CASE @broken WHEN 1 THEN N'' ELSE N'the worst is ' END, N'''', @target, N''': ',
            CASE @fault
                WHEN 1 THEN N'nothing is known of what it returned'
                WHEN 2 THEN CONCAT(@rows, CASE @rows WHEN 1 THEN N' row' ELSE N' rows' END)
                WHEN 3 THEN N'NULL, no number, or no row'
                WHEN 5 THEN N'its number before the wave is not known'
                ELSE CONCAT(@value_text, N' after ' + @before_text)
            END
        )
        ELSE CONCAT(
            N'returned ',
            CASE
                WHEN @has_value = 0 AND @most_rows = 0 THEN N'no row'
                WHEN @has_value = 0 THEN CONCAT(N'at most ', @most_rows, CASE @most_rows WHEN 1 THEN N' row' ELSE N' rows' END)
                WHEN @least = @most THEN @least_text
                ELSE CONCAT(@least_text, N' to ', @most_text)
            END,
            N' on ', @targets, CASE @targets WHEN 1 THEN N' target' ELSE N' targets' END
        )
    END;
    UPDATE w
    SET w.probe_gate = CONCAT(
            N'The probe', CASE WHEN @is_before = 1 THEN N' before it' END, CASE WHEN @passed = 1 THEN N' ' ELSE N': ' END, @found, N'.'
        ),
        w.before_run_id = CASE WHEN @is_before = 0 THEN w.before_run_id WHEN @passed = 1 THEN @run_id END
    FROM jobs_internal.rollout_waves AS w
    WHERE w.execution_id = @execution_id
        AND w.wave = @wave;
    IF @passed = 0
        SET @reason = CONCAT(
            N'Wave ''', @name, N''': its probe', CASE WHEN @is_before = 1 THEN N' before it' END, N': ', @found, N'.'
        );
    RETURN 0;
END;
