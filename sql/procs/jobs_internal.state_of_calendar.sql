-- Returns the state of a calendar for the audit log: its definition, without secrets and without what passes and agents change.
-- A new column of the definition must be added here.
--
-- Parameters:
--   @calendar_name  Name of the calendar.
--   @state          Receives a JSON object; NULL: there is no such object.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_calendar
    @calendar_name NVARCHAR(128),
    @state         NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT c.spec
        FROM jobs_internal.calendars AS c
        WHERE c.name = @calendar_name
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
