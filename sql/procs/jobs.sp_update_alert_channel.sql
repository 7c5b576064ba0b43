-- Changes a channel of alerts. Values that are not given stay. Its type cannot be changed. Deliveries that wait use the new definition.
--
-- Parameters:
--   @channel_name  Name of the channel.
--   @definition    JSON object; see jobs.sp_add_alert_channel.
--   @enabled       1 or 0.
-- Called by: members of the role jobs_author.
-- Locks:     the channel's row (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50034 the channel name is missing or empty.
--   50044 the definition is invalid.
--   50058 the definition of an action is invalid.
--   50097 a text is longer than its limit.
--   50122 the channel does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_update_alert_channel
    @channel_name NVARCHAR(129),
    @definition   NVARCHAR(MAX) = NULL,
    @enabled      BIT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @channel_id INT;
    DECLARE @channel_type NVARCHAR(50);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@channel_name) > 256
        THROW 50097, N'Invalid @channel_name: want at most 128 characters, not 129 or more.', 1;

    IF @channel_name IS NULL OR LTRIM(@channel_name) = N''
        THROW 50034, N'Missing channel name: @channel_name is NULL or empty.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- channel_type is in no index, so that the lock is on the clustered key.
    SELECT
        @channel_id = c.channel_id,
        @channel_type = c.channel_type,
        @definition = COALESCE(@definition, c.definition)
    FROM jobs_internal.alert_channels AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @channel_name;
    IF @channel_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert channel ''', @channel_name, N''' does not exist. The view jobs.alert_channels lists all channels.'
        ), N'%', N'%%');
        THROW 50122, @message, 1;
    END;
    EXECUTE jobs_internal.check_alert_channel
        @channel_name = @channel_name,
        @channel_type = @channel_type OUTPUT,
        @definition = @definition;
    EXECUTE jobs_internal.state_of_alert_channel @channel_name = @channel_name, @state = @audit_before OUTPUT;
    UPDATE c
    SET c.definition = @definition,
        c.needs_secrets = CASE WHEN @definition LIKE N'%$(secret.%' THEN 1 ELSE 0 END,
        c.enabled = COALESCE(@enabled, c.enabled),
        c.updated_at = @now
    FROM jobs_internal.alert_channels AS c
    WHERE c.channel_id = @channel_id;

    EXECUTE jobs_internal.state_of_alert_channel @channel_name = @channel_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_update_alert_channel',
        @object_kind = N'AlertChannel',
        @object_name = @channel_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
