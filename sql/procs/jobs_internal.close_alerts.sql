-- The last stage of evaluate_alerts: makes the notifications that are due, resolves alerts whose rule or job is gone or whose rule does not
-- watch the job any more, and deletes limits of runs that are not needed any more.
--
-- Parameters:
--   @more  Receives 1 if the stage is to be continued: a transaction resolves at most 500 alerts.
--   @now   The time of the evaluation.
-- Called by: jobs_internal.evaluate_alerts, within a transaction that holds the row of alert_state.
-- Locks:     rows of alerts (U, X; READPAST), their deliveries (X; READPAST), rows of alert_run_limits (X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.close_alerts
    @more BIT OUTPUT,
    @now  DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @most INT = 500;
    DECLARE @read INT;
    DECLARE @resolved NVARCHAR(MAX); -- JSON for resolve_alerts
    DECLARE @gone TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, reason NVARCHAR(1000) NOT NULL);
    DECLARE @locked TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, note NVARCHAR(1000) NULL);
    DECLARE @silent TABLE (alert_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @repeated TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, note NVARCHAR(1000) NULL);

    SET @more = 0;
    INSERT INTO @gone (alert_id, reason)
    SELECT TOP (@most)
        a.alert_id,
        CASE
            WHEN r.rule_id IS NULL THEN N'The rule was deleted or disabled.'
            WHEN j.job_id IS NULL THEN N'The job was deleted.'
            ELSE N'The rule does not watch the job any more.'
        END
    FROM jobs_internal.alerts AS a
    LEFT JOIN jobs_internal.enabled_alert_rules AS r ON r.rule_id = a.rule_id
    LEFT JOIN jobs_internal.jobs AS j ON j.job_id = a.job_id AND j.deleted_at IS NULL
    WHERE a.resolved_at IS NULL
        AND (
            r.rule_id IS NULL
            OR (a.job_id IS NOT NULL AND j.job_id IS NULL)
            OR r.job_id <> j.job_id
            OR (r.job_id IS NULL AND j.name NOT LIKE r.like_pattern)
        );
    SET @read = @@ROWCOUNT;
    -- Those of them that no other transaction holds. acknowledge_note is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (alert_id, note)
    SELECT a.alert_id, a.acknowledge_note
    FROM @gone AS g
    INNER LOOP JOIN jobs_internal.alerts AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.alert_id = g.alert_id
    WHERE a.resolved_at IS NULL;
    IF @@ROWCOUNT > 0 AND @read = @most
        SET @more = 1;
    -- Open alerts that were notified before their rule was told to repeat notifications, or to repeat them sooner.
    INSERT INTO @silent (alert_id)
    SELECT TOP (@most) a.alert_id
    FROM jobs_internal.alerts AS a
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
    WHERE a.resolved_at IS NULL
        AND a.state = N'Open'
        AND a.notified_at IS NOT NULL
        AND (a.notify_at IS NULL OR a.notify_at > DATEADD(SECOND, r.repeat_seconds, a.notified_at))
        AND r.enabled = 1
        AND r.repeat_seconds IS NOT NULL;
    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @repeated (alert_id, note)
        SELECT a.alert_id, a.acknowledge_note
        FROM @silent AS s
        INNER LOOP JOIN jobs_internal.alerts AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.alert_id = s.alert_id
        WHERE a.state = N'Open';
        UPDATE a
        SET a.notify_at = DATEADD(SECOND, r.repeat_seconds, a.notified_at)
        FROM @repeated AS x
        INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = x.alert_id
        INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id;
    END;
    EXECUTE jobs_internal.notify_alerts @now = @now;
    SET @resolved = (
        SELECT g.alert_id, g.reason
        FROM @locked AS l
        INNER JOIN @gone AS g ON g.alert_id = l.alert_id
        FOR JSON PATH
    );
    EXECUTE jobs_internal.resolve_alerts @alerts = @resolved, @now = @now;

    -- Limits of runs that have ended and of rules that are gone.
    IF EXISTS (SELECT 1 FROM jobs_internal.alert_run_limits AS l)
    BEGIN
        -- rows: the next evaluation goes on
        DELETE TOP (1000) l
        FROM jobs_internal.alert_run_limits AS l
        WHERE NOT EXISTS (
                SELECT 1
                FROM jobs_internal.enabled_alert_rules AS r
                WHERE r.rule_id = l.rule_id
                    AND r.condition = N'RunTooLong'
            )
            OR NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.execution_id = l.execution_id
                    AND e.is_active = 1
            ) AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_runs AS q WHERE q.execution_id = l.execution_id);
        IF @@ROWCOUNT = 1000
            SET @more = 1;
    END;
    RETURN 0;
END;
