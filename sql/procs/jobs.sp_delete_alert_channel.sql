-- Deletes a channel of alerts that no rule uses. What waits for delivery to it is not sent.
--
-- Parameters:
--   @channel_name  Name of the channel.
-- Called by: members of the role jobs_author.
-- Locks:     the channel's row (U, X), its waiting deliveries (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50034 the channel name is missing or empty.
--   50097 a text is longer than its limit.
--   50122 the channel does not exist.
--   50123 a rule uses the channel.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_delete_alert_channel
    @channel_name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @channel_id INT;
    DECLARE @definition NVARCHAR(MAX);
    DECLARE @rule_name NVARCHAR(128);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @waiting TABLE (delivery_id BIGINT NOT NULL PRIMARY KEY);

    IF DATALENGTH(@channel_name) > 256
        THROW 50097, N'Invalid @channel_name: want at most 128 characters, not 129 or more.', 1;

    IF @channel_name IS NULL OR LTRIM(@channel_name) = N''
        THROW 50034, N'Missing channel name: @channel_name is NULL or empty.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- definition is in no index, so that the lock is on the clustered key.
    SELECT
        @channel_id = c.channel_id,
        @definition = c.definition
    FROM jobs_internal.alert_channels AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @channel_name;
    IF @channel_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert channel ''', @channel_name, N''' does not exist. The view jobs.alert_channels lists all channels.'
        ), N'%', N'%%');
        THROW 50122, @message, 1;
    END;
    SELECT @rule_name = MIN(r.name)
    FROM jobs_internal.alert_rule_channels AS x
    INNER JOIN jobs_internal.alert_rules AS r ON r.rule_id = x.rule_id
    WHERE x.channel_id = @channel_id;
    IF @rule_name IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert channel ''', @channel_name, N''' is used by the alert ''', @rule_name, N'''. Change its channels first.'
        ), N'%', N'%%');
        THROW 50123, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_alert_channel @channel_name = @channel_name, @state = @audit_before OUTPUT;
    INSERT INTO @waiting (delivery_id)
    SELECT d.delivery_id
    FROM jobs_internal.alert_deliveries AS d
    WHERE d.next_attempt_at IS NOT NULL
        AND d.channel_id = @channel_id;
    UPDATE d
    SET d.state = N'Canceled',
        d.next_attempt_at = NULL,
        d.last_error = COALESCE(d.last_error, N'Not sent: the channel was deleted.')
    FROM @waiting AS w
    INNER LOOP JOIN jobs_internal.alert_deliveries AS d ON d.delivery_id = w.delivery_id
    WHERE d.state = N'Pending';
    DELETE c
    FROM jobs_internal.alert_channels AS c
    WHERE c.channel_id = @channel_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_alert_channel',
        @object_kind = N'AlertChannel',
        @object_name = @channel_name,
        @before = @audit_before,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
