-- The schema of tables and of what only the agent calls. Nobody is granted anything on it but the agent.
CREATE SCHEMA jobs_internal AUTHORIZATION dbo;
