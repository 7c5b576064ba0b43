-- Adds a channel of alerts, or changes one: the writer behind jobs.sp_add_alert_channel and jobs.sp_update_alert_channel.
--
-- What a mode does with a channel, and with parameters that are NULL:
--   Add     the channel is new; it is enabled
--   Update  the channel exists; they stay. Its type cannot be changed
--
-- Parameters: those of the callers, and
--   @mode  Add or Update.
-- Called by: jobs.sp_add_alert_channel, jobs.sp_update_alert_channel. It has the transaction.
-- Locks:     the channel's row, or the range of its name (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:    the errors of its callers.
CREATE OR ALTER PROCEDURE jobs_internal.store_alert_channel
    @mode         NVARCHAR(10),
    @channel_name NVARCHAR(129),
    @channel_type NVARCHAR(51) = NULL,
    @definition   NVARCHAR(MAX),
    @enabled      BIT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @channel_id INT;
    DECLARE @stored_type NVARCHAR(50);
    DECLARE @needs_secrets BIT;
    DECLARE @action NVARCHAR(128) = CASE WHEN @mode = N'Add' THEN N'sp_add_alert_channel' ELSE N'sp_update_alert_channel' END;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@channel_name) > 256
        THROW 50097, N'Invalid @channel_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@channel_type) > 100
        THROW 50097, N'Invalid @channel_type: want at most 50 characters, not 51 or more.', 1;
    IF @channel_name IS NULL OR LTRIM(@channel_name) = N''
        THROW 50034, N'Missing channel name: @channel_name is NULL or empty.', 1;
    IF @mode = N'Add'
        EXECUTE jobs_internal.check_name @name = @channel_name, @parameter = N'@channel_name';

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- channel_type is in no index, so that the lock is on the clustered key, and on the name, which another session may add.
    SELECT
        @channel_id = c.channel_id,
        @stored_type = c.channel_type,
        @definition = COALESCE(@definition, c.definition)
    FROM jobs_internal.alert_channels AS c WITH (UPDLOCK, HOLDLOCK)
    WHERE c.name = @channel_name;
    IF @mode = N'Add' AND @channel_id IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'An alert channel named ''', @channel_name, N''' exists already. Choose another name, or change it with ',
            N'jobs.sp_update_alert_channel.'
        ), N'%', N'%%');
        THROW 50119, @message, 1;
    END;
    IF @mode = N'Update' AND @channel_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The alert channel ''', @channel_name, N''' does not exist. The view jobs.alert_channels lists all channels.'
        ), N'%', N'%%');
        THROW 50122, @message, 1;
    END;
    SET @channel_type = COALESCE(@stored_type, @channel_type);
    EXECUTE jobs_internal.check_alert_channel @channel_type = @channel_type OUTPUT, @definition = @definition;
    SET @needs_secrets = CASE WHEN @definition LIKE N'%$(secret.%' THEN 1 ELSE 0 END;

    IF @mode = N'Add'
        INSERT INTO jobs_internal.alert_channels (name, channel_type, definition, needs_secrets, enabled, created_at, updated_at)
        VALUES (@channel_name, @channel_type, @definition, @needs_secrets, COALESCE(@enabled, 1), @now, @now);
    ELSE
    BEGIN
        EXECUTE jobs_internal.state_of_alert_channel @channel_name = @channel_name, @state = @audit_before OUTPUT;
        UPDATE c
        SET c.definition = @definition,
            c.needs_secrets = @needs_secrets,
            c.enabled = COALESCE(@enabled, c.enabled),
            c.updated_at = @now
        FROM jobs_internal.alert_channels AS c
        WHERE c.channel_id = @channel_id;
    END;

    EXECUTE jobs_internal.state_of_alert_channel @channel_name = @channel_name, @state = @audit_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = @action,
        @object_kind = N'AlertChannel',
        @object_name = @channel_name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
