-- What a session's server says of itself, asked before anything of an author is sent. $(control_name) is the name of the agent's control
-- database, empty when it has none; see identity.go. Functions only: this is asked once for each target.
SELECT
    @@SPID AS session_id,
    -- @@SERVERNAME is NULL between sp_dropserver and sp_addserver.
    COALESCE(@@SERVERNAME, CAST(SERVERPROPERTY('ServerName') AS NVARCHAR(256)), N'') AS server_name,
    DB_NAME() AS database_name,
    -- An object is visible to those who have a permission on it: the first to agents, the second to all others with a role.
    CASE
        WHEN OBJECT_ID(N'jobs_internal.schema_versions', N'U') IS NOT NULL THEN 1
        WHEN OBJECT_ID(N'jobs.jobstep_options', N'V') IS NOT NULL THEN 1
        ELSE 0
    END AS has_schema,
    CASE
        WHEN CAST(SERVERPROPERTY('EngineEdition') AS INT) = 5 THEN 0 -- Azure SQL Database has no way from one database to another
        WHEN HAS_DBACCESS(N'$(control_name)') = 1 THEN 1
        WHEN DB_ID(N'$(control_name)') IS NULL THEN 0
        -- Who may become any login, or give any login another password, can enter every database.
        WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'IMPERSONATE ANY LOGIN') = 1 THEN 1
        WHEN HAS_PERMS_BY_NAME(NULL, NULL, N'ALTER ANY LOGIN') = 1 THEN 1
        ELSE 0
    END AS may_enter_control;
