-- Lists the tenants of the SAP surface.
--
-- Parameters:
--   @tenant  Only this tenant; NULL: all.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   one row for each tenant: tenant_id, subdomain, is_provider, is_subscribed, created_at, apps (JSON array).
-- Throws:
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.list_tenants
    @tenant NVARCHAR(129) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    SELECT
        n.tenant_id,
        n.subdomain,
        n.is_provider,
        n.is_subscribed,
        n.created_at,
        (
            SELECT CONCAT(
                N'[',
                STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(s.app, 'json'), N'"') AS NVARCHAR(MAX)), N',') WITHIN GROUP (ORDER BY s.app),
                N']'
            )
            FROM jobs_internal.tenant_subscriptions AS s
            WHERE s.tenant_id = n.tenant_id
        ) AS apps
    FROM jobs_internal.tenants AS n
    WHERE n.tenant_id = COALESCE(@tenant, n.tenant_id)
    ORDER BY n.tenant_id;
    RETURN 0;
END;
