-- The permissions that the agent's login needs, and no others.
IF DATABASE_PRINCIPAL_ID(N'jobs_agent') IS NULL
    CREATE ROLE jobs_agent AUTHORIZATION dbo;
GRANT SELECT ON OBJECT::jobs_internal.schema_versions TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.code_objects TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.agent_status TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.advance_status TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.agent_protocols TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.run_states TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.skip_counts TO jobs_agent;
GRANT SELECT ON OBJECT::jobs.agent TO jobs_agent;
GRANT SELECT ON OBJECT::jobs.control_database TO jobs_agent;
