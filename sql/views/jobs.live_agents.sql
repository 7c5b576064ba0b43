-- The number of live agents: one row. Their names and activity are visible to the role jobs_operator
-- (jobs_internal.agent_status).
--
-- Columns:
--   live_agents  Number of agents whose term has neither ended nor expired. With 0, due work waits for an agent.
CREATE OR ALTER VIEW jobs.live_agents
AS
SELECT COUNT(*) AS live_agents
FROM jobs_internal.agent_status AS a
WHERE a.is_live = 1;
