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
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXECUTE jobs_internal.store_alert_channel
        @mode = N'Update',
        @channel_name = @channel_name,
        @definition = @definition,
        @enabled = @enabled;
    RETURN 0;
END;
