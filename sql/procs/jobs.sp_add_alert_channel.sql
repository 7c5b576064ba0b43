-- Adds a channel, to which alerts are sent.
--
--   type                                         definition
--   Http, StorageQueue, ServiceBusQueue, …Topic  that of an action of this type (jobs/action/DESIGN.md), without callback. Its variables
--                                                are $(payload), the notification as a JSON object, $(param.NAME), a member of it,
--                                                $(idempotency_key), the id of the notification, $(attempt) and $(secret.NAME). Without
--                                                a body or message, $(payload) is sent.
--   Mail                                         {"host", "port": 587, "security": "starttls" or "tls" or "none", "username",
--                                                "password": "$(secret.NAME)", "from", "to": ["…"]}
--   Slack, Teams                                 {"url": "$(secret.NAME)"}: the address of an incoming webhook, or of a workflow
--
-- Parameters:
--   @channel_name  Name; unique.
--   @channel_type  Http, StorageQueue, ServiceBusQueue, ServiceBusTopic, Mail, Slack or Teams.
--   @definition    JSON object.
--   @enabled       1 (default) or 0.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in alert_channels (U); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50034 the channel name is missing or empty.
--   50044 the type or the definition is invalid.
--   50058 the definition of an action is invalid.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50119 a channel of this name exists already.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_alert_channel
    @channel_name NVARCHAR(129),
    @channel_type NVARCHAR(51),
    @definition   NVARCHAR(MAX),
    @enabled      BIT = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@channel_name) > 256
        THROW 50097, N'Invalid @channel_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@channel_type) > 100
        THROW 50097, N'Invalid @channel_type: want at most 50 characters, not 51 or more.', 1;

    EXECUTE jobs_internal.check_name @name = @channel_name, @parameter = N'@channel_name';
    EXECUTE jobs_internal.check_alert_channel
        @channel_name = @channel_name,
        @channel_type = @channel_type OUTPUT,
        @definition = @definition;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- index: UQ_alert_channels_name, in which another session may insert the same name
    IF EXISTS (SELECT 1 FROM jobs_internal.alert_channels AS c WITH (UPDLOCK, HOLDLOCK) WHERE c.name = @channel_name)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'An alert channel named ''', @channel_name, N''' exists already. Choose another name, or change it with ',
            N'jobs.sp_update_alert_channel.'
        ), N'%', N'%%');
        THROW 50119, @message, 1;
    END;
    INSERT INTO jobs_internal.alert_channels (name, channel_type, definition, needs_secrets, enabled, created_at, updated_at)
    VALUES (
        @channel_name, @channel_type, @definition, CASE WHEN @definition LIKE N'%$(secret.%' THEN 1 ELSE 0 END, COALESCE(@enabled, 1),
        @now, @now
    );

    EXECUTE jobs_internal.state_of_alert_channel @channel_name = @channel_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_alert_channel',
        @object_kind = N'AlertChannel',
        @object_name = @channel_name,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
