-- Finds the tenant in which a caller of the SAP surface creates jobs, and locks its row until the caller's transaction ends, so that its
-- last subscription is not removed meanwhile. Jobs of one tenant are created one after the other, so their names stay unique.
--
-- Parameters:
--   @tenant     The caller's tenant; NULL: the provider.
--   @tenant_id  Receives its id.
-- Called by: jobs_rest.set_job, within its transaction.
-- Locks:     one row of tenants (U).
-- Returns:   0.
-- Throws:
--   50178 the tenant has no subscription.
CREATE OR ALTER PROCEDURE jobs_internal.lock_tenant
    @tenant    NVARCHAR(128),
    @tenant_id NVARCHAR(128) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @subscribed BIT;

    SET @tenant_id = COALESCE(@tenant, (SELECT TOP (1) n.tenant_id FROM jobs_internal.tenants AS n WHERE n.is_provider = 1));
    SELECT @subscribed = n.is_subscribed
    FROM jobs_internal.tenants AS n WITH (UPDLOCK, ROWLOCK)
    WHERE n.tenant_id = @tenant_id;
    IF COALESCE(@subscribed, 0) = 0
        THROW 50178, N'The tenant has no subscription.', 1;
    RETURN 0;
END;
