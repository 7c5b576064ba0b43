-- Reads all public views, the summaries of the overview, and explains what a run waits for; nothing else.
IF DATABASE_PRINCIPAL_ID(N'jobs_reader') IS NULL
    CREATE ROLE jobs_reader AUTHORIZATION dbo;
GRANT SELECT ON SCHEMA::jobs TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_explain_execution TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_overview TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_failures TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_recent_runs TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_limits TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_run TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_run_targets TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_target_outcomes TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_get_target_runs TO jobs_reader;
GRANT SELECT ON OBJECT::jobs_internal.run_states TO jobs_reader;
GRANT SELECT ON OBJECT::jobs_internal.skip_counts TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.list_jobs TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.get_job TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.list_schedules TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.search_schedules TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.list_runs TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.count_jobs TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.list_actions TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.get_settings TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_rest.list_tenants TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs_internal.begin_call TO jobs_reader;
ALTER ROLE jobs_reader ADD MEMBER jobagent_reader;
