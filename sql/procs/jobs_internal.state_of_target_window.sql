-- Returns the state of a window of databases as the audit log shows it. A new column of the definition must be added here.
--
-- Parameters:
--   @window_name  Name of the window.
--   @state        Receives a JSON object; NULL: there is no such object.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_target_window
    @window_name NVARCHAR(128),
    @state       NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT w.server_name, w.database_name, w.tag_filter, w.calendar_name, w.blackouts_name, w.time_zone, w.zone_tag
        FROM jobs_internal.target_windows AS w
        WHERE w.name = @window_name
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
