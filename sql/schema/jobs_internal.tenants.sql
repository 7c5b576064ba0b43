-- Tenants of the SAP surface. The row of a tenant stays after its last subscription was removed, so that its tokens are refused.
--
-- Columns:
--   tenant_id      Id of the tenant, as in tokens. Compared exactly; no id ends in a blank, which comparisons would ignore.
--   subdomain      Subdomain of the tenant.
--   is_provider    1: the tenant of the provider; jobs that the provider creates belong to it.
--   is_subscribed  1: it has a subscription, or is the provider's.
--   created_at     When the row was created.
--   events_channel  Of the provider: the name of the alert channel for events of runs (ansConfig); NULL: none are sent.
CREATE TABLE jobs_internal.tenants (
    tenant_id     NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    subdomain     NVARCHAR(256) NOT NULL,
    is_provider   BIT NOT NULL CONSTRAINT DF_tenants_is_provider DEFAULT 0,
    is_subscribed BIT NOT NULL CONSTRAINT DF_tenants_is_subscribed DEFAULT 1,
    created_at    DATETIME2(7) NOT NULL,
    events_channel NVARCHAR(128) NULL,
    CONSTRAINT PK_tenants PRIMARY KEY (tenant_id)
);
