-- Returns the state of a channel of alerts for the audit log. Its definition holds no secrets, but the names of some (I9).
-- A new column of the definition must be added here.
--
-- Parameters:
--   @channel_name  Name of the channel.
--   @state         Receives a JSON object; NULL: there is no such object.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_alert_channel
    @channel_name NVARCHAR(128),
    @state        NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT c.name, c.channel_type, c.definition, c.enabled
        FROM jobs_internal.alert_channels AS c
        WHERE c.name = @channel_name
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
