-- Reads all public views, the summaries of the overview, and explains what a run waits for; nothing else.
IF DATABASE_PRINCIPAL_ID(N'jobs_reader') IS NULL
    CREATE ROLE jobs_reader AUTHORIZATION dbo;
GRANT SELECT ON SCHEMA::jobs TO jobs_reader;
GRANT SELECT ON OBJECT::jobs_internal.run_states TO jobs_reader;
GRANT SELECT ON OBJECT::jobs_internal.skip_counts TO jobs_reader;
ALTER ROLE jobs_reader ADD MEMBER jobagent_reader;
