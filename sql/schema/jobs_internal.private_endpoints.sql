-- Private endpoints of the job agent. They are stored and shown, and have no effect.
--
-- Columns:
--   name                       Unique.
--   private_endpoint_id        EJ_, a GUID, _ and the name.
--   target_server_resource_id  Resource id of the target's server.
--   revision                   Grows with every change.
--   created_at                 When it was added.
CREATE TABLE jobs_internal.private_endpoints (
    name                      NVARCHAR(128) NOT NULL,
    private_endpoint_id       NVARCHAR(200) NOT NULL,
    target_server_resource_id NVARCHAR(1000) NOT NULL,
    revision                  BIGINT NOT NULL CONSTRAINT DF_private_endpoints_revision DEFAULT 1,
    created_at                DATETIME2(7) NOT NULL,
    CONSTRAINT PK_private_endpoints PRIMARY KEY (name)
);
