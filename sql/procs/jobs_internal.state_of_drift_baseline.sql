-- Returns the state of a baseline of schemas as the audit log shows it. A new column of the definition must be added here.
--
-- Parameters:
--   @baseline_name  Name of the baseline.
--   @state          Receives a JSON object; NULL: there is no such object.
-- Called by: jobs.sp_set_drift_baseline, jobs.sp_delete_drift_baseline.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_drift_baseline
    @baseline_name NVARCHAR(128),
    @state         NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT TOP (1)
            b.source,
            JSON_QUERY((
                SELECT l.options, CONVERT(VARCHAR(64), l.fingerprint, 2) AS fingerprint
                FROM jobs_internal.drift_baselines AS l
                WHERE l.name = @baseline_name
                ORDER BY l.options
                FOR JSON PATH
            )) AS schemas
        FROM jobs_internal.drift_baselines AS b
        WHERE b.name = @baseline_name
        ORDER BY b.options
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
