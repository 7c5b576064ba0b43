-- Private endpoints of the job agent.
--
-- Columns:
--   private_endpoint_name      Name; unique.
--   private_endpoint_id        EJ_, a GUID, _ and the name.
--   target_server_resource_id  Resource id of the target's server.
--   created_time               When it was added (UTC).
--   revision                   Grows with every change.
CREATE OR ALTER VIEW jobs.private_endpoints
AS
SELECT
    p.name AS private_endpoint_name,
    p.private_endpoint_id,
    p.target_server_resource_id,
    p.created_at AS created_time,
    p.revision
FROM jobs_internal.private_endpoints AS p;
