-- How many agents are alive: one row. Which they are, and what they do, is for the role jobs_operator (jobs_internal.agent_status).
--
-- Columns:
--   live_agents  Agents whose term has neither ended nor expired; 0: what is due waits for one.
CREATE OR ALTER VIEW jobs.live_agents
AS
SELECT COUNT(*) AS live_agents
FROM jobs_internal.agent_status AS a
WHERE a.is_live = 1;
