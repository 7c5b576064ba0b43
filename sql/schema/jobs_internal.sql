-- The schema of the tables and of the procedures that only agents call. Only the agent's role has permissions on it.
CREATE SCHEMA jobs_internal AUTHORIZATION dbo;
