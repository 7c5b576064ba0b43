-- Compares runs that have ended with the rules that watch such runs.
--
-- Parameters:
--   @runs  JSON array of internal keys of runs. Runs that are active or purged, and those whose jobs were deleted, are ignored.
-- Called by: jobs_internal.raise_alerts.
-- Locks:     rows of alert_run_limits (X).
-- Returns:   One row for each rule and run that it watches: rule_id, execution_id, is_met (1: the condition is met, 0: it is not, NULL: the
--            run says nothing), subject_key, job_id, job_name, job_execution_id, lifecycle, begin_at, end_time, and title and message of
--            the alert.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.judge_ended_runs
    @runs NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @added INT;
    DECLARE @ended TABLE (
        execution_id     BIGINT NOT NULL PRIMARY KEY,
        job_execution_id UNIQUEIDENTIFIER NOT NULL,
        job_id           UNIQUEIDENTIFIER NOT NULL,
        job_name         NVARCHAR(128) NOT NULL,
        lifecycle        NVARCHAR(50) NOT NULL,
        begin_at         DATETIME2(7) NOT NULL,
        end_time         DATETIME2(7) NOT NULL,
        message          NVARCHAR(2000) NULL,
        targets          INT NULL,
        not_succeeded    INT NULL,
        is_rollout       BIT NOT NULL -- it lasted as long as its bakes, and its waves had the targets
    );

    -- Each step that has ended knows the number of its targets; those that failed and are tolerated count, too. Plan: per run the range
    -- of UQ_step_executions_step_id, as many rows as the run has had steps.
    INSERT INTO @ended (
        execution_id, job_execution_id, job_id, job_name, lifecycle, begin_at, end_time, message, targets, not_succeeded, is_rollout
    )
    SELECT
        e.execution_id, e.job_execution_id, e.job_id, j.name, e.lifecycle, COALESCE(e.start_time, e.create_time), e.end_time,
        CAST(e.last_message AS NVARCHAR(2000)), c.targets, c.not_succeeded,
        CASE WHEN o.execution_id IS NULL THEN 0 ELSE 1 END
    FROM OPENJSON(@runs) WITH (execution_id BIGINT N'$') AS q
    INNER LOOP JOIN jobs_internal.visible_runs AS e ON e.execution_id = q.execution_id
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    LEFT JOIN jobs_internal.rollouts AS o ON o.execution_id = e.execution_id
    OUTER APPLY (
        SELECT SUM(COALESCE(s.targets, 0)) AS targets, SUM(COALESCE(s.not_succeeded, 0)) AS not_succeeded
        FROM jobs_internal.step_executions AS s
        WHERE s.execution_id = e.execution_id
            AND EXISTS (SELECT 1 FROM jobs_internal.enabled_alert_rules AS r WHERE r.condition = N'TargetsFailed')
    ) AS c
    WHERE e.is_active = 0
        AND j.deleted_at IS NULL;

    -- Runs that ended before their limit was computed, and took long enough to exceed one.
    INSERT INTO jobs_internal.alert_run_limits (rule_id, execution_id)
    SELECT r.rule_id, x.execution_id
    FROM jobs_internal.enabled_alert_rules AS r
    CROSS JOIN @ended AS x
    WHERE r.condition = N'RunTooLong'
        AND x.is_rollout = 0
        AND (r.job_id = x.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR x.job_name LIKE r.like_pattern)))
        AND x.end_time > DATEADD(SECOND, r.seconds, x.begin_at)
        AND NOT EXISTS (
            SELECT 1
            FROM jobs_internal.alert_run_limits AS l
            WHERE l.rule_id = r.rule_id
                AND l.execution_id = x.execution_id
        );
    SET @added = @@ROWCOUNT;
    -- Those whose rule has changed since.
    UPDATE l
    SET l.is_computed = 0
    FROM @ended AS x
    CROSS JOIN jobs_internal.enabled_alert_rules AS r
    INNER LOOP JOIN jobs_internal.alert_run_limits AS l ON l.rule_id = r.rule_id AND l.execution_id = x.execution_id
    WHERE r.condition = N'RunTooLong'
        AND l.is_computed = 1
        AND (l.computed_for IS NULL OR l.computed_for <> r.updated_at);
    IF @added + @@ROWCOUNT > 0
        EXECUTE jobs_internal.limit_long_runs;

    SELECT
        r.rule_id,
        x.execution_id,
        CASE
            WHEN x.is_rollout = 1 AND r.condition <> N'RunEnded' THEN NULL
            WHEN r.condition = N'RunEnded' AND r.lifecycles LIKE CONCAT(N'%,', x.lifecycle, N',%') THEN 1
            WHEN r.condition = N'TargetsFailed' AND 100.0 * x.not_succeeded / NULLIF(x.targets, 0) >= r.percent_failed THEN 1
            WHEN r.condition = N'RunTooLong' AND x.end_time > l.limit_at THEN 1
            WHEN x.lifecycle = N'Canceled' THEN NULL
            -- It failed before its targets were known, so it says nothing of them.
            WHEN r.condition = N'TargetsFailed' AND COALESCE(x.targets, 0) = 0 AND x.lifecycle IN (N'Failed', N'TimedOut') THEN NULL
            ELSE 0
        END AS is_met,
        CONCAT(N'job:', x.job_id) AS subject_key,
        x.job_id,
        x.job_name,
        x.job_execution_id,
        x.lifecycle,
        x.begin_at,
        x.end_time,
        CONCAT(N'Job ''', x.job_name, N''' ', CASE r.condition
            WHEN N'RunEnded' THEN CONCAT(N'ended as ', x.lifecycle)
            WHEN N'TargetsFailed' THEN CONCAT(
                N'did not succeed on ', x.not_succeeded, N' of ', x.targets, N' targets (',
                CAST(100.0 * x.not_succeeded / NULLIF(x.targets, 0) AS DECIMAL(5, 1)), N' %)'
            )
            ELSE N'took too long'
        END) AS title,
        CONCAT(
            N'The run of ', CONVERT(NVARCHAR(19), x.begin_at, 126), N'Z ended as ', x.lifecycle, N' at ',
            CONVERT(NVARCHAR(19), x.end_time, 126), N'Z, after ', CAST(DATEDIFF_BIG(SECOND, x.begin_at, x.end_time) AS NVARCHAR(20)), N' s',
            N'; the median is ' + CASE
                WHEN r.condition = N'RunTooLong' THEN CONCAT(CAST(l.median_seconds AS DECIMAL(18, 1)), N' s')
            END,
            N'.', NCHAR(10), x.message
        ) AS message
    FROM jobs_internal.enabled_alert_rules AS r
    CROSS JOIN @ended AS x
    LEFT JOIN jobs_internal.alert_run_limits AS l ON l.rule_id = r.rule_id AND l.execution_id = x.execution_id
    WHERE r.condition IN (N'RunEnded', N'TargetsFailed', N'RunTooLong')
        AND (r.job_id = x.job_id OR (r.job_id IS NULL AND (r.like_pattern IS NULL OR x.job_name LIKE r.like_pattern)))
        AND x.end_time >= r.watches_from;
    RETURN 0;
END;
