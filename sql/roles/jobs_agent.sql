-- The permissions that the agent's login needs, and no others.
IF DATABASE_PRINCIPAL_ID(N'jobs_agent') IS NULL
    CREATE ROLE jobs_agent AUTHORIZATION dbo;
GRANT EXECUTE ON OBJECT::jobs_internal.start_term TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.renew_term TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.end_term TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.controller_pass TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.begin_send TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.report_callback TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.complete_tasks TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.complete_resolution TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.get_command TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.get_payload TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.get_secret TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.reseal_secret TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.get_failure TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.due_schedules TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.fire_schedules TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.record_verdicts TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.recheck_schedules TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.ensure_system_jobs TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.purge_history TO jobs_agent;
GRANT EXECUTE ON OBJECT::jobs_internal.delete_leftovers TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.schema_versions TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.code_objects TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.agent_status TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.advance_status TO jobs_agent;
GRANT SELECT ON OBJECT::jobs_internal.agent_protocols TO jobs_agent;
