-- Stores the provider's tenant of the instance of the SAP surface. Jobs that the provider creates belong to it. It cannot become another
-- one, because the provider's jobs belong to it.
--
-- Parameters:
--   @tenant          Id of the provider's tenant.
--   @subdomain       Its subdomain.
--   @events_channel  Name of the alert channel for the events of runs, for which jobs ask by ansConfig; NULL or empty: none are sent.
-- Called by: members of the role jobs_admin.
-- Locks:     the rows of all tenants (U, in ranges), so that a second caller waits and finds the provider; the tenant's row (X).
-- Returns:   0.
-- Throws:
--   50089 the id of a tenant is missing.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50179 the provider is another tenant.
CREATE OR ALTER PROCEDURE jobs_rest.set_provider
    @tenant         NVARCHAR(129),
    @subdomain      NVARCHAR(257) = N'',
    @events_channel NVARCHAR(129) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @other NVARCHAR(128);
    DECLARE @created_at DATETIME2(7);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@subdomain) > 512
        THROW 50097, N'Invalid @subdomain: want at most 256 characters, not 257 or more.', 1;

    IF DATALENGTH(@events_channel) > 256
        THROW 50097, N'Invalid @events_channel: want at most 128 characters, not 129 or more.', 1;
    SET @events_channel = NULLIF(@events_channel, N'');

    IF @tenant IS NULL OR LTRIM(@tenant) = N''
        THROW 50089, N'Missing id of a tenant.', 1;

    BEGIN TRANSACTION;

    -- No index has is_provider: the scan locks all rows and the ranges between them, the tenant's among them.
    SET @other = (
        SELECT TOP (1) n.tenant_id
        FROM jobs_internal.tenants AS n WITH (UPDLOCK, HOLDLOCK)
        WHERE n.is_provider = 1 AND n.tenant_id <> @tenant
    );
    IF @other IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The provider of this control database is the tenant ''', @other, N''', not ''', @tenant, N'''.'
        ), N'%', N'%%');
        THROW 50179, @message, 1;
    END;
    SET @created_at = (SELECT n.created_at FROM jobs_internal.tenants AS n WHERE n.tenant_id = @tenant);
    EXECUTE jobs_internal.state_of_tenant @tenant = @tenant, @state = @before OUTPUT;
    IF @created_at IS NULL
    BEGIN
        EXECUTE jobs_internal.check_name @name = @tenant, @parameter = N'@tenant';
        INSERT INTO jobs_internal.tenants (tenant_id, subdomain, is_provider, created_at, events_channel)
        VALUES (@tenant, COALESCE(@subdomain, N''), 1, @now, @events_channel);
    END;
    ELSE
        UPDATE n
        SET n.subdomain = COALESCE(@subdomain, N''),
            n.is_provider = 1,
            n.is_subscribed = 1,
            n.events_channel = @events_channel
        FROM jobs_internal.tenants AS n
        WHERE n.tenant_id = @tenant
            AND (
                n.subdomain <> COALESCE(@subdomain, N'')
                OR n.is_provider = 0
                OR n.is_subscribed = 0
                OR COALESCE(n.events_channel, N'') <> COALESCE(@events_channel, N'')
            );

    -- A repetition leaves no entry: nothing differs.
    EXECUTE jobs_internal.state_of_tenant @tenant = @tenant, @state = @after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'jobs_rest.set_provider',
        @object_kind = N'Tenant',
        @object_name = @tenant,
        @before = @before,
        @after = @after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
