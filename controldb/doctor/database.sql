-- Properties of the server and the database. The database is found by name, because in Azure SQL Database DB_ID() may differ from
-- sys.databases.database_id
-- (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-databases-transact-sql).
SELECT
    CAST(SERVERPROPERTY(N'EngineEdition') AS INT) AS engine_edition,
    CAST(SERVERPROPERTY(N'Edition') AS NVARCHAR(128)) AS edition,
    CAST(SERVERPROPERTY(N'ProductVersion') AS NVARCHAR(128)) AS product_version,
    CAST(SERVERPROPERTY(N'ServerName') AS NVARCHAR(128)) AS machine_name,
    CAST(@@SERVERNAME AS NVARCHAR(128)) AS server_name,
    d.name AS database_name,
    CAST(d.compatibility_level AS INT) AS compatibility_level,
    d.is_read_committed_snapshot_on,
    d.collation_name,
    (SELECT t.collation_name FROM sys.databases AS t WHERE t.name = N'tempdb') AS tempdb_collation_name,
    d.user_access_desc,
    d.is_read_only,
    CAST(DATABASEPROPERTYEX(d.name, N'Updateability') AS NVARCHAR(128)) AS updateability,
    d.state_desc,
    d.recovery_model_desc,
    d.log_reuse_wait_desc,
    d.delayed_durability_desc,
    d.snapshot_isolation_state_desc,
    -- Everybody sees the view; the option exists since SQL Server 2017. Other options have texts, which a server may cast
    -- before it leaves them out.
    CAST(COALESCE((SELECT TRY_CAST(c.value AS INT) FROM sys.database_scoped_configurations AS c WHERE c.name = N'IDENTITY_CACHE'), 1) AS BIT) AS identity_cache,
    d.is_auto_close_on,
    d.is_auto_shrink_on
FROM sys.databases AS d
WHERE d.name = DB_NAME();
