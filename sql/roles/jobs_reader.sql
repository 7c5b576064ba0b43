-- Reads all public views, and nothing else.
IF DATABASE_PRINCIPAL_ID(N'jobs_reader') IS NULL
    CREATE ROLE jobs_reader AUTHORIZATION dbo;
GRANT SELECT ON SCHEMA::jobs TO jobs_reader;
