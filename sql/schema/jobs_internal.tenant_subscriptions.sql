-- Subscriptions of tenants to applications. With the last one, the tenant's jobs are deleted (jobs_rest.unsubscribe).
--
-- Columns:
--   tenant_id   The tenant.
--   app         Name of the application. Compared exactly.
--   created_at  When the tenant subscribed.
CREATE TABLE jobs_internal.tenant_subscriptions (
    tenant_id  NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    app        NVARCHAR(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
    created_at DATETIME2(7) NOT NULL,
    CONSTRAINT PK_tenant_subscriptions PRIMARY KEY (tenant_id, app),
    CONSTRAINT FK_tenant_subscriptions_tenants FOREIGN KEY (tenant_id) REFERENCES jobs_internal.tenants (tenant_id)
);
