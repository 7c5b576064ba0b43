-- Computes from when on runs take too long: rules with the condition RunTooLong compare a run with the median of its job's latest good
-- runs, and the limit of each run is computed once, and again when the rule has changed.
--
-- Called by: jobs_internal.judge_ended_runs and jobs_internal.watch_condition, which have added the runs to alert_run_limits.
-- Locks:     rows of alert_run_limits (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.limit_long_runs
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    -- A job with fewer than three good runs has no median. Plan: per new run the latest 200 runs of its job.
    -- loop: only evaluations use these rows, one at a time
    WITH good AS (
        SELECT
            l.rule_id,
            l.execution_id,
            r.runs,
            p.execution_id AS earlier_id,
            DATEDIFF_BIG(MILLISECOND, p.start_time, p.end_time) AS milliseconds,
            ROW_NUMBER() OVER (PARTITION BY l.rule_id, l.execution_id ORDER BY p.execution_id DESC) AS place
        FROM jobs_internal.alert_run_limits AS l
        INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = l.rule_id
        INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
        CROSS APPLY (
            SELECT TOP (200) h.execution_id, h.lifecycle, h.start_time, h.end_time, h.mode
            FROM jobs_internal.job_executions AS h
            WHERE h.job_id = e.job_id
                AND h.create_time <= e.create_time
            ORDER BY h.create_time DESC, h.job_execution_id
        ) AS p
        WHERE l.is_computed = 0
            AND p.execution_id <> l.execution_id
            AND p.lifecycle IN (N'Succeeded', N'SucceededWithSkipped')
            AND p.start_time IS NOT NULL
            AND p.mode IS NULL
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.rollouts AS o WHERE o.execution_id = p.execution_id) -- lasts as long as its bakes
    ),
    ranked AS (
        SELECT
            g.rule_id,
            g.execution_id,
            g.milliseconds,
            ROW_NUMBER() OVER (PARTITION BY g.rule_id, g.execution_id ORDER BY g.milliseconds, g.earlier_id) AS rank,
            COUNT(*) OVER (PARTITION BY g.rule_id, g.execution_id) AS total
        FROM good AS g
        WHERE g.place <= g.runs
    ),
    medians AS (
        SELECT k.rule_id, k.execution_id, AVG(CAST(k.milliseconds AS DECIMAL(18, 3))) / 1000 AS median_seconds
        FROM ranked AS k
        WHERE k.total >= 3
            AND k.rank IN ((k.total + 1) / 2, (k.total + 2) / 2)
        GROUP BY k.rule_id, k.execution_id
    )
    UPDATE l
    SET l.is_computed = 1,
        l.computed_for = r.updated_at,
        l.median_seconds = m.median_seconds,
        l.limit_at = DATEADD(
            MILLISECOND,
            CAST(m.median_seconds * r.factor * 1000 AS BIGINT) % 1000,
            DATEADD(SECOND, CASE
                WHEN m.median_seconds IS NULL THEN NULL
                WHEN m.median_seconds * r.factor > r.seconds THEN CAST(CASE
                    WHEN m.median_seconds * r.factor > 315360000 THEN 315360000
                    ELSE FLOOR(m.median_seconds * r.factor)
                END AS INT)
                ELSE r.seconds
            END, COALESCE(e.start_time, e.create_time))
        )
    FROM jobs_internal.alert_run_limits AS l
    INNER JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = l.rule_id
    INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = l.execution_id
    LEFT JOIN medians AS m ON m.rule_id = l.rule_id AND m.execution_id = l.execution_id
    WHERE l.is_computed = 0;
    RETURN 0;
END;
