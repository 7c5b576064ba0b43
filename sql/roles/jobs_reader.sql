-- Reads all public views and explains what a run waits for; nothing else.
IF DATABASE_PRINCIPAL_ID(N'jobs_reader') IS NULL
    CREATE ROLE jobs_reader AUTHORIZATION dbo;
GRANT SELECT ON SCHEMA::jobs TO jobs_reader;
GRANT EXECUTE ON OBJECT::jobs.sp_explain_execution TO jobs_reader;
