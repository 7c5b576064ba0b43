-- Returns the state of a trigger for the audit log. A new column of the definition must be added here.
--
-- Parameters:
--   @trigger_id  The trigger.
--   @state       Receives a JSON object; NULL: there is no such trigger.
-- Called by: the public procedures that change it, within their transactions, after they have locked its job and before
--            they change the trigger.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_trigger
    @trigger_id BIGINT,
    @state      NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT
            t.trigger_name AS name,
            t.run_when,
            t.targets,
            JSON_QUERY(t.upstream_jobs) AS upstream_jobs,
            t.enabled
        FROM jobs.job_triggers AS t
        WHERE t.trigger_id = @trigger_id
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
