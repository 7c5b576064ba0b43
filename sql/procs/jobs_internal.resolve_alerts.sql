-- Resolves alerts, and makes notifications about it where the rule asks for them. Nothing more is sent for a rule that is gone.
--
-- Parameters:
--   @alerts  JSON array of objects: alert_id, reason. The caller holds these alerts, which are unresolved.
--   @now     The time of the evaluation.
-- Called by: jobs_internal.raise_alerts, jobs_internal.close_alerts.
-- Locks:     the alerts, their deliveries (X; READPAST); inserts into alert_deliveries.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.resolve_alerts
    @alerts NVARCHAR(MAX),
    @now    DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @resolved TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, reason NVARCHAR(1000) NOT NULL);

    INSERT INTO @resolved (alert_id, reason)
    SELECT o.alert_id, o.reason
    FROM OPENJSON(@alerts) WITH (alert_id BIGINT, reason NVARCHAR(1000)) AS o;
    IF @@ROWCOUNT = 0
        RETURN 0;

    -- A delivery that another session holds is being sent or canceled.
    UPDATE d
    SET d.state = N'Canceled',
        d.next_attempt_at = NULL,
        d.last_error = COALESCE(d.last_error, N'Not sent: the rule was deleted or disabled.')
    FROM @resolved AS v
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) ON d.alert_id = a.alert_id
    WHERE d.alert_id IS NOT NULL
        AND d.state = N'Pending'
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r WHERE r.rule_id = a.rule_id AND r.enabled = 1);
    INSERT INTO jobs_internal.alert_deliveries (
        notification_id, alert_id, channel_id, channel_name, kind, title, message, occurrences, last_at, state, created_at, expires_at,
        next_attempt_at, attempts
    )
    SELECT
        NEWID(), a.alert_id, c.channel_id, c.name, N'Resolved', LEFT(CONCAT(N'Resolved: ', a.title), 400),
        CONCAT(v.reason, NCHAR(10), N'Before: ', a.message), a.occurrences, a.last_at, N'Pending', @now, DATEADD(DAY, 1, @now), @now, 0
    FROM @resolved AS v
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
    INNER JOIN jobs_internal.alert_rule_channels AS x ON x.rule_id = r.rule_id
    INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = x.channel_id
    WHERE a.state = N'Open'
        AND a.acknowledged_at IS NULL
        AND a.notified_at IS NOT NULL
        AND r.enabled = 1
        AND r.notify_resolved = 1
        AND (r.muted_until IS NULL OR r.muted_until <= @now)
        AND c.enabled = 1;
    UPDATE a
    SET a.state = N'Resolved',
        a.resolved_at = @now,
        a.resolve_reason = v.reason,
        a.notify_at = NULL
    FROM @resolved AS v
    INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id;
    RETURN 0;
END;
