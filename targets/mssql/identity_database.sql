-- Returns what identity.sql returns about the session's database, and whether the login can enter the control database. It runs
-- for each database of a server whose other answers the agent remembers; see identity.go. $(control_name) is the name of the
-- agent's control database.
SELECT
    DB_NAME() AS database_name,
    CASE
        WHEN OBJECT_ID(N'jobs_internal.schema_versions', N'U') IS NOT NULL THEN 1
        WHEN OBJECT_ID(N'jobs.jobstep_options', N'V') IS NOT NULL THEN 1
        ELSE 0
    END AS has_schema,
    COALESCE(HAS_DBACCESS(N'$(control_name)'), 0) AS may_enter_control;
