-- Makes the notifications that are due, one delivery for each channel of the rule. When more than ten alerts of a rule are due at once,
-- they are sent together: one notification, of the first of them, lists their titles.
--
-- Parameters:
--   @now  The time of the evaluation.
-- Called by: jobs_internal.raise_alerts, jobs_internal.close_alerts.
-- Locks:     alerts whose notification is due (U, X; READPAST); inserts into alert_deliveries.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.notify_alerts
    @now DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @due TABLE (alert_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, note NVARCHAR(1000) NULL);
    DECLARE @repeated TABLE (alert_id BIGINT NOT NULL PRIMARY KEY, notify_at DATETIME2(7) NULL);
    DECLARE @sent TABLE (
        alert_id BIGINT NOT NULL PRIMARY KEY,
        rule_id  INT NOT NULL,
        place    BIGINT NOT NULL, -- among those of the rule
        total    INT NOT NULL
    );

    -- A notification in the future is one before the clock was set back: what was to come after it is due. (By some seconds it may be one
    -- of an evaluation that has begun later.) Plan: IX_alerts_notify_at, and the row of each alert that waits for its next notification.
    INSERT INTO @due (alert_id)
    SELECT TOP (1000) a.alert_id
    FROM jobs_internal.alerts AS a
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
    WHERE a.notify_at IS NOT NULL
        AND (a.notify_at <= @now OR COALESCE(a.notified_at, a.raised_at) > DATEADD(MINUTE, 5, @now))
        AND r.enabled = 1
        AND (r.muted_until IS NULL OR r.muted_until <= @now)
    ORDER BY a.notify_at, a.alert_id;
    IF @@ROWCOUNT = 0
        RETURN 0;
    -- acknowledge_note is in no index, so that the locks are on the clustered keys.
    INSERT INTO @locked (alert_id, note)
    SELECT a.alert_id, a.acknowledge_note
    FROM @due AS d
    INNER LOOP JOIN jobs_internal.alerts AS a WITH (UPDLOCK, READPAST, ROWLOCK) ON a.alert_id = d.alert_id
    WHERE a.state = N'Open'
        AND (a.notify_at <= @now OR COALESCE(a.notified_at, a.raised_at) > DATEADD(MINUTE, 5, @now));
    -- Repetitions by an interval that the rule does not have any more: nothing has happened since the notification before, and the next one
    -- is due later or never. Plan: per alert the range of its deliveries.
    INSERT INTO @repeated (alert_id, notify_at)
    SELECT a.alert_id, DATEADD(SECOND, r.repeat_seconds, a.notified_at)
    FROM @locked AS l
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = l.alert_id
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id
    WHERE a.notified_at IS NOT NULL
        AND (
            r.repeat_seconds IS NULL
            OR (a.notified_at <= DATEADD(MINUTE, 5, @now) AND DATEADD(SECOND, r.repeat_seconds, a.notified_at) > @now)
        )
        AND EXISTS (
            SELECT 1
            FROM jobs_internal.alert_deliveries AS d
            WHERE d.alert_id = a.alert_id
                AND d.alert_id IS NOT NULL
                AND d.kind IN (N'Raised', N'Again')
                AND d.occurrences >= a.occurrences
        );
    UPDATE a
    SET a.notify_at = p.notify_at
    FROM @repeated AS p
    INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = p.alert_id;
    DELETE FROM @locked WHERE alert_id IN (SELECT p.alert_id FROM @repeated AS p);
    INSERT INTO @sent (alert_id, rule_id, place, total)
    SELECT
        a.alert_id,
        a.rule_id,
        ROW_NUMBER() OVER (PARTITION BY a.rule_id ORDER BY a.alert_id),
        COUNT(*) OVER (PARTITION BY a.rule_id)
    FROM @locked AS l
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = l.alert_id;

    INSERT INTO jobs_internal.alert_deliveries (
        notification_id, alert_id, channel_id, channel_name, kind, title, message, occurrences, last_at, state, created_at, expires_at,
        next_attempt_at, attempts
    )
    SELECT
        NEWID(), a.alert_id, c.channel_id, c.name, CASE WHEN a.notified_at IS NULL THEN N'Raised' ELSE N'Again' END,
        CASE
            -- LEFT may count a pair of UTF-16 as one.
            WHEN s.total > 10 THEN CAST(CONCAT(s.total, N' alerts of ''', r.name, N''', such as: ', a.title) AS NVARCHAR(400))
            ELSE a.title
        END,
        CASE
            WHEN s.total > 10 THEN CONCAT(
                (
                    SELECT STRING_AGG(CAST(b.title AS NVARCHAR(MAX)), NCHAR(10)) WITHIN GROUP (ORDER BY b.alert_id)
                    FROM @sent AS o
                    INNER JOIN jobs_internal.alerts AS b ON b.alert_id = o.alert_id
                    WHERE o.rule_id = s.rule_id
                        AND o.place <= 20
                ),
                CASE WHEN s.total > 20 THEN CONCAT(NCHAR(10), N'and ', s.total - 20, N' more.') END,
                NCHAR(10), a.message
            )
            ELSE a.message
        END,
        a.occurrences, a.last_at, N'Pending', @now, DATEADD(DAY, 1, @now), @now, 0
    FROM @sent AS s
    INNER JOIN jobs_internal.alerts AS a ON a.alert_id = s.alert_id
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = s.rule_id
    INNER JOIN jobs_internal.alert_rule_channels AS x ON x.rule_id = s.rule_id
    INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = x.channel_id
    WHERE c.enabled = 1
        AND (s.total <= 10 OR s.place = 1);
    UPDATE a
    SET a.notified_at = @now,
        a.notifications = a.notifications + 1,
        a.notify_at = DATEADD(SECOND, r.repeat_seconds, @now)
    FROM @sent AS s
    INNER LOOP JOIN jobs_internal.alerts AS a ON a.alert_id = s.alert_id
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = a.rule_id;
    RETURN 0;
END;
