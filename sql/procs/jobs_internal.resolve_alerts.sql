-- Resolves alerts, and makes notifications about it where the rule asks for them. When more than ten alerts of a rule are resolved at once,
-- they are sent together, as in jobs_internal.notify_alerts. Nothing more is sent for a rule that is gone.
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
    DECLARE @told TABLE (
        alert_id BIGINT NOT NULL PRIMARY KEY,
        rule_id  INT NOT NULL,
        place    BIGINT NOT NULL, -- among those of the rule
        total    INT NOT NULL
    );

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
    INSERT INTO @told (alert_id, rule_id, place, total)
    SELECT
        a.alert_id,
        a.rule_id,
        ROW_NUMBER() OVER (PARTITION BY a.rule_id ORDER BY a.alert_id),
        COUNT(*) OVER (PARTITION BY a.rule_id)
    FROM @resolved AS v
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
    WHERE a.state = N'Open'
        AND a.acknowledged_at IS NULL
        AND a.notified_at IS NOT NULL
        AND r.enabled = 1
        AND r.notify_resolved = 1
        AND (r.muted_until IS NULL OR r.muted_until <= @now);
    INSERT INTO jobs_internal.alert_deliveries (
        notification_id, alert_id, channel_id, channel_name, kind, title, message, occurrences, last_at, state, created_at, expires_at,
        next_attempt_at, attempts
    )
    SELECT
        NEWID(), a.alert_id, c.channel_id, c.name, N'Resolved',
        CAST(CASE -- LEFT may count a pair of UTF-16 as one
            WHEN t.total > 10 THEN CONCAT(N'Resolved: ', t.total, N' alerts of ''', r.name, N''', such as: ', a.title)
            ELSE CONCAT(N'Resolved: ', a.title)
        END AS NVARCHAR(400)),
        CONCAT(
            CASE
                WHEN t.total > 10 THEN CONCAT(
                    (
                        SELECT STRING_AGG(CAST(b.title AS NVARCHAR(MAX)), NCHAR(10)) WITHIN GROUP (ORDER BY b.alert_id)
                        FROM @told AS o
                        INNER JOIN jobs_internal.alerts AS b ON b.alert_id = o.alert_id
                        WHERE o.rule_id = t.rule_id
                            AND o.place <= 20
                    ),
                    CASE WHEN t.total > 20 THEN CONCAT(NCHAR(10), N'and ', t.total - 20, N' more.') END,
                    NCHAR(10)
                )
            END,
            v.reason, NCHAR(10), N'Before: ', a.message
        ),
        a.occurrences, a.last_at, N'Pending', @now, DATEADD(DAY, 1, @now), @now, 0
    FROM @told AS t
    INNER JOIN @resolved AS v ON v.alert_id = t.alert_id
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = t.alert_id
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = t.rule_id
    INNER JOIN jobs_internal.alert_rule_channels AS x ON x.rule_id = t.rule_id
    INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = x.channel_id
    WHERE c.enabled = 1
        AND (t.total <= 10 OR t.place = 1);
    UPDATE a
    SET a.state = N'Resolved',
        a.resolved_at = @now,
        a.resolve_reason = v.reason,
        a.notify_at = NULL
    FROM @resolved AS v
    INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = v.alert_id;
    RETURN 0;
END;
