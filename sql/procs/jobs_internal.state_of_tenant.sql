-- Reads the state of a tenant of the SAP surface for the audit log, with one of its subscriptions.
--
-- Parameters:
--   @tenant  Id of the tenant.
--   @app     Name of an application; the state has it only while the tenant has a subscription to it. NULL: none.
--   @state   Receives a JSON object; NULL: the tenant does not exist.
-- Called by: jobs_rest.set_provider, jobs_rest.subscribe, jobs_rest.unsubscribe, within their transactions.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.state_of_tenant
    @tenant NVARCHAR(128),
    @app    NVARCHAR(200) = NULL,
    @state  NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @state = (
        SELECT
            n.tenant_id AS name,
            n.subdomain,
            n.is_provider,
            n.is_subscribed,
            n.events_channel,
            s.app
        FROM jobs_internal.tenants AS n
        LEFT JOIN jobs_internal.tenant_subscriptions AS s ON s.tenant_id = n.tenant_id AND s.app = @app
        WHERE n.tenant_id = @tenant
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    RETURN 0;
END;
