-- The job agent (account) of this control database: one row, or none if there is no job agent.
--
-- Columns:
--   agent_name    Name.
--   location      Where it is, for display; NULL: not given.
--   sku           Tier: JA and the capacity, or Agent.
--   capacity      Maximum number of targets that run at once, over all runs and agents.
--   identity_id   Resource id of the identity with which targets are connected to; NULL: none.
--   tags          JSON object of texts; NULL: none.
--   state         Creating, Ready, Updating, Disabled, Faulted or Deleting. Definitions can be changed and runs started while it is
--                 Creating, Ready or Updating; agents work while it is Ready or Updating.
--   reason        Why it is Disabled or Faulted.
--   disabled_by   Login that disabled it.
--   operation_id  The operation in progress (jobs.agent_operations); NULL: none.
--   created_time  When it was created (UTC).
--   changed_time  When anything of it last changed (UTC).
CREATE OR ALTER VIEW jobs.agent
AS
SELECT
    a.name AS agent_name,
    a.location,
    a.sku,
    a.capacity,
    a.identity_id,
    a.tags,
    a.state,
    a.reason,
    a.disabled_by,
    a.operation_id,
    a.created_at AS created_time,
    a.changed_at AS changed_time
FROM jobs_internal.job_agent AS a
WHERE a.name IS NOT NULL;
