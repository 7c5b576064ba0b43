-- Sends a test notification to a channel, or to all channels of a rule. jobs.alert_deliveries shows the result, by notification_id or
-- from the end.
--
-- Parameters:
--   @channel_name  The channel.
--   @alert_name    The rule, in place of @channel_name.
-- Called by: members of the role jobs_author.
-- Locks:     inserts into alert_deliveries and audit_entries.
-- Job agent: in each state: it tries a channel, and defines nothing.
-- Returns:   One row for each channel: channel_name, notification_id.
-- Throws:
--   50034 both names are given, or neither.
--   50045 the rule has no channels.
--   50097 a text is longer than its limit.
--   50121 the rule does not exist.
--   50122 the channel does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_test_alert
    @channel_name NVARCHAR(129) = NULL,
    @alert_name   NVARCHAR(129) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @audit_name NVARCHAR(300) = COALESCE(NULLIF(@channel_name, N''), @alert_name);
    DECLARE @sent TABLE (channel_name NVARCHAR(128) NOT NULL PRIMARY KEY, notification_id UNIQUEIDENTIFIER NOT NULL);

    IF DATALENGTH(@channel_name) > 256
        THROW 50097, N'Invalid @channel_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@alert_name) > 256
        THROW 50097, N'Invalid @alert_name: want at most 128 characters, not 129 or more.', 1;

    SET @channel_name = NULLIF(@channel_name, N'');
    SET @alert_name = NULLIF(@alert_name, N'');
    IF (@channel_name IS NULL AND @alert_name IS NULL) OR (@channel_name IS NOT NULL AND @alert_name IS NOT NULL)
        THROW 50034, N'Missing name: give @channel_name or @alert_name.', 1;
    IF @channel_name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_channels AS c WHERE c.name = @channel_name)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert channel ''', @channel_name, N''' does not exist. The view jobs.alert_channels lists all channels.'
        ), N'%', N'%%');
        THROW 50122, @message, 1;
    END;
    IF @alert_name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM jobs_internal.alert_rules AS r WHERE r.name = @alert_name)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert ''', @alert_name, N''' does not exist. The view jobs.alert_rules lists all alerts.'
        ), N'%', N'%%');
        THROW 50121, @message, 1;
    END;

    BEGIN TRANSACTION;

    -- rows: one for each channel
    INSERT INTO jobs_internal.alert_deliveries (
        notification_id, alert_id, channel_id, channel_name, kind, title, message, occurrences, last_at, state, created_at, expires_at,
        next_attempt_at, attempts
    )
    OUTPUT inserted.channel_name, inserted.notification_id INTO @sent (channel_name, notification_id)
    SELECT
        NEWID(), NULL, c.channel_id, c.name, N'Test', N'Test of an alert channel',
        CONCAT(N'This is a test of the channel ''', c.name, N''', sent by ', @caller, N'. Nothing is wrong.'),
        1, @now, N'Pending', @now, DATEADD(MINUTE, 10, @now), @now, 0
    FROM jobs_internal.alert_channels AS c
    WHERE c.name = @channel_name
        OR c.channel_id IN (
            SELECT x.channel_id
            FROM jobs_internal.alert_rules AS r
            INNER JOIN jobs_internal.alert_rule_channels AS x ON x.rule_id = r.rule_id
            WHERE r.name = @alert_name
        );
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert ''', @alert_name, N''' has no channels. Give it some with jobs.sp_update_alert @channels.'
        ), N'%', N'%%');
        THROW 50045, @message, 1;
    END;
    SET @audit_after = (SELECT s.channel_name, s.notification_id FROM @sent AS s ORDER BY s.channel_name FOR JSON PATH, ROOT('sent'));
    EXECUTE jobs_internal.audit
        @action = N'sp_test_alert',
        @object_kind = N'AlertChannel',
        @object_name = @audit_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;

    SELECT s.channel_name, s.notification_id
    FROM @sent AS s
    ORDER BY s.channel_name;
    RETURN 0;
END;
