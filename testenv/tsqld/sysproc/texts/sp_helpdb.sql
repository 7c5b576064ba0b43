CREATE PROCEDURE sys.sp_helpdb @dbname sysname = NULL
AS
-- Documentation: sp_helpdb.
SET NOCOUNT ON;
IF @dbname IS NOT NULL AND DB_ID(@dbname) IS NULL
BEGIN
    RAISERROR(15010, -1, -1, @dbname);
    RETURN 1;
END
SELECT d.name,
    CAST(STR((SELECT SUM(CAST(f.size AS bigint)) FROM sys.master_files AS f WHERE f.database_id = d.database_id) * 8 / 1024.0, 10, 2) + N' MB' AS nvarchar(13)) AS db_size,
    CAST(SUSER_SNAME(d.owner_sid) AS sysname) AS owner, CAST(d.database_id AS smallint) AS dbid, CONVERT(nvarchar(11), d.create_date, 100) AS created,
    CAST(CONCAT(N'Status=', CAST(DATABASEPROPERTYEX(d.name, 'Status') AS nvarchar(60)), N', Updateability=', CAST(DATABASEPROPERTYEX(d.name, 'Updateability') AS nvarchar(60)),
        N', UserAccess=', CAST(DATABASEPROPERTYEX(d.name, 'UserAccess') AS nvarchar(60)), N', Recovery=', CAST(DATABASEPROPERTYEX(d.name, 'Recovery') AS nvarchar(60)),
        N', Version=', CAST(DATABASEPROPERTYEX(d.name, 'Version') AS nvarchar(60)), N', Collation=', d.collation_name,
        CASE d.is_auto_create_stats_on WHEN 1 THEN N', IsAutoCreateStatistics' ELSE N'' END, CASE d.is_auto_update_stats_on WHEN 1 THEN N', IsAutoUpdateStatistics' ELSE N'' END,
        CASE d.is_fulltext_enabled WHEN 1 THEN N', IsFulltextEnabled' ELSE N'' END) AS nvarchar(600)) AS status, d.compatibility_level
FROM sys.databases AS d
WHERE (d.name = @dbname OR @dbname IS NULL) AND HAS_DBACCESS(d.name) = 1
ORDER BY d.name;
IF @dbname IS NOT NULL
    SELECT CAST(f.name AS sysname) AS name, CAST(f.file_id AS smallint) AS fileid, CAST(f.physical_name AS nchar(260)) AS filename, CAST(CASE f.type WHEN 0 THEN N'PRIMARY' END AS sysname) AS filegroup,
        CAST(CAST(CAST(f.size AS bigint) * 8 AS nvarchar(15)) + N' KB' AS nvarchar(18)) AS size,
        CAST(CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CAST(CAST(f.max_size AS bigint) * 8 AS nvarchar(15)) + N' KB' END AS nvarchar(18)) AS maxsize,
        CAST(CASE f.is_percent_growth WHEN 1 THEN CAST(f.growth AS nvarchar(15)) + N'%' ELSE CAST(CAST(f.growth AS bigint) * 8 AS nvarchar(15)) + N' KB' END AS nvarchar(18)) AS growth,
        CAST(CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS varchar(9)) AS usage
    FROM sys.master_files AS f
    WHERE f.database_id = DB_ID(@dbname)
    ORDER BY 2;
RETURN 0;
