-- Agents that have ever started a term.
--
-- Columns:
--   agent_id                Chosen by the agent's owner, or by the agent when it first starts.
--   host_name               Machine of the latest term.
--   version                 Program version of the latest term.
--   max_concurrent_targets  Limit of the latest term.
--   first_seen_at           When its first term started.
CREATE TABLE jobs_internal.agents (
    agent_id               UNIQUEIDENTIFIER NOT NULL,
    host_name              NVARCHAR(256) NOT NULL,
    version                NVARCHAR(128) NOT NULL,
    max_concurrent_targets INT NOT NULL,
    first_seen_at          DATETIME2(7) NOT NULL,
    CONSTRAINT PK_agents PRIMARY KEY (agent_id)
);
