-- Adds a subscription of a tenant of the SAP surface to an application. A repetition changes nothing.
--
-- Parameters:
--   @tenant     Id of the tenant.
--   @subdomain  Its subdomain.
--   @app        Name of the application.
-- Called by: members of the role jobs_admin.
-- Locks:     the tenant's row (U, X); an insert into tenant_subscriptions.
-- Returns:   0.
-- Throws:
--   50089 the id of a tenant is missing.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.subscribe
    @tenant    NVARCHAR(129),
    @subdomain NVARCHAR(257),
    @app       NVARCHAR(201)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @created_at DATETIME2(7);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@subdomain) > 512
        THROW 50097, N'Invalid @subdomain: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@app) > 400
        THROW 50097, N'Invalid @app: want at most 200 characters, not 201 or more.', 1;

    IF @tenant IS NULL OR LTRIM(@tenant) = N'' OR @app IS NULL OR LTRIM(@app) = N''
        THROW 50089, N'Missing id of a tenant, or name of an application.', 1;

    BEGIN TRANSACTION;

    -- created_at is in no index, so that the lock is on the clustered key.
    SELECT @created_at = n.created_at
    FROM jobs_internal.tenants AS n WITH (UPDLOCK, HOLDLOCK)
    WHERE n.tenant_id = @tenant;
    EXECUTE jobs_internal.state_of_tenant @tenant = @tenant, @app = @app, @state = @before OUTPUT;
    IF @created_at IS NULL
    BEGIN
        EXECUTE jobs_internal.check_name @name = @tenant, @parameter = N'@tenant';
        INSERT INTO jobs_internal.tenants (tenant_id, subdomain, created_at)
        VALUES (@tenant, COALESCE(@subdomain, N''), @now);
    END;
    ELSE
        UPDATE n
        SET n.subdomain = COALESCE(@subdomain, n.subdomain),
            n.is_subscribed = 1
        FROM jobs_internal.tenants AS n
        WHERE n.tenant_id = @tenant;
    IF NOT EXISTS (SELECT 1 FROM jobs_internal.tenant_subscriptions AS s WHERE s.tenant_id = @tenant AND s.app = @app)
        INSERT INTO jobs_internal.tenant_subscriptions (tenant_id, app, created_at)
        VALUES (@tenant, @app, @now);

    -- A repetition leaves no entry: nothing differs.
    EXECUTE jobs_internal.state_of_tenant @tenant = @tenant, @app = @app, @state = @after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'jobs_rest.subscribe',
        @object_kind = N'Tenant',
        @object_name = @tenant,
        @before = @before,
        @after = @after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
