-- Returns the state of a rule of alerts for the audit log.
-- A new column of the definition must be added here.
--
-- Parameters:
--   @alert_name  Name of the rule.
--   @state       Receives a JSON object; NULL: there is no such object.
-- Called by: the public procedures that change it, within their transactions, after they have locked it.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_alert
    @alert_name NVARCHAR(128),
    @state      NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT
            r.name,
            r.description,
            r.condition,
            r.job_id,
            r.job_pattern,
            r.lifecycles,
            r.percent_failed,
            r.factor,
            r.runs,
            r.seconds,
            r.severity,
            r.throttle_seconds,
            r.repeat_seconds,
            r.notify_resolved,
            r.enabled,
            r.muted_until,
            r.mute_note,
            r.percent_changed,
            r.group_pattern AS target_group_pattern,
            (
                SELECT STRING_AGG(CAST(c.name AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY c.name)
                FROM jobs_internal.alert_rule_channels AS x
                INNER JOIN jobs_internal.alert_channels AS c ON c.channel_id = x.channel_id
                WHERE x.rule_id = r.rule_id
            ) AS channels
        FROM jobs_internal.alert_rules AS r
        WHERE r.name = @alert_name
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
