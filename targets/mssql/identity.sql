-- Returns the identity of a session's server. It runs before any text of an author is sent. $(control_name) is the name of the
-- agent's control database, empty if it has none; see identity.go. It uses functions only, because it runs once for each target.
SELECT
    @@SPID AS session_id,
    -- @@SERVERNAME is NULL between sp_dropserver and sp_addserver.
    COALESCE(@@SERVERNAME, CAST(SERVERPROPERTY('ServerName') AS NVARCHAR(256)), N'') AS server_name,
    DB_NAME() AS database_name,
    -- An object is visible with a permission on it: the first one to agents, the second one to every other role.
    CASE
        WHEN OBJECT_ID(N'jobs_internal.schema_versions', N'U') IS NOT NULL THEN 1
        WHEN OBJECT_ID(N'jobs.jobstep_options', N'V') IS NOT NULL THEN 1
        ELSE 0
    END AS has_schema,
    CASE
        WHEN CAST(SERVERPROPERTY('EngineEdition') AS INT) = 5 THEN 0 -- in Azure SQL Database a session cannot enter another database
        WHEN HAS_DBACCESS(N'$(control_name)') = 1 THEN 1
        WHEN DB_ID(N'$(control_name)') IS NULL THEN 0
        -- A login that may impersonate any login, or change any login's password, can enter every database.
        WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'IMPERSONATE ANY LOGIN') = 1 THEN 1
        WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'ALTER ANY LOGIN') = 1 THEN 1
        ELSE 0
    END AS may_enter_control,
    COALESCE(CAST(SERVERPROPERTY('EngineEdition') AS INT), 0) AS engine_edition;
