CREATE PROCEDURE sys.sp_helpfile @filename sysname = NULL
AS
-- Documentation: sp_helpfile.
IF @filename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_files WHERE name = @filename)
BEGIN
    RAISERROR(15325, -1, -1, N'file', @filename);
    RETURN 1;
END
SELECT CAST(f.name AS sysname) AS name, CAST(f.file_id AS smallint) AS fileid, CAST(f.physical_name AS nchar(260)) AS filename, CAST(CASE f.type WHEN 0 THEN N'PRIMARY' END AS sysname) AS filegroup,
    CAST(CAST(CAST(f.size AS bigint) * 8 AS nvarchar(15)) + N' KB' AS nvarchar(18)) AS size,
    CAST(CASE f.max_size WHEN -1 THEN N'Unlimited' ELSE CAST(CAST(f.max_size AS bigint) * 8 AS nvarchar(15)) + N' KB' END AS nvarchar(18)) AS maxsize,
    CAST(CASE f.is_percent_growth WHEN 1 THEN CAST(f.growth AS nvarchar(15)) + N'%' ELSE CAST(CAST(f.growth AS bigint) * 8 AS nvarchar(15)) + N' KB' END AS nvarchar(18)) AS growth,
    CAST(CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS varchar(9)) AS usage
FROM sys.database_files AS f
WHERE f.name = @filename OR @filename IS NULL
ORDER BY 2;
RETURN 0;
