-- Adds a channel, to which alerts are sent.
--
--   type                                         definition
--   Http and others, see jobs.command_types      that of an action of this type (jobs/action/DESIGN.md), without callback. Its variables
--                                                are $(payload), the notification as a JSON object, $(param.NAME), a member of it,
--                                                $(idempotency_key), the id of the notification, $(attempt) and $(secret.NAME). Without
--                                                a body or message, $(payload) is sent.
--   Mail                                         {"host", "port": 587, "security": "starttls" or "tls" or "none", "username",
--                                                "password": "$(secret.NAME)", "from", "to": ["…"]}
--   Slack, Teams                                 {"url": "$(secret.NAME)"}: the address of an incoming webhook, or of a workflow
--
-- Parameters:
--   @channel_name  Name; unique.
--   @channel_type  A type of jobs.command_types, such as Http or Mail.
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
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_alert_channel
        @mode = N'Add',
        @channel_name = @channel_name,
        @channel_type = @channel_type,
        @definition = @definition,
        @enabled = @enabled;
    RETURN 0;
END;
