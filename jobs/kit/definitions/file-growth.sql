-- Keeps the size of each file of this database, so that its growth can be seen, and says what is wrong with it.
-- https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-files-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-os-volume-stats-transact-sql
SET NOCOUNT ON;
DECLARE @min_free_percent FLOAT = $(param.min_free_percent);
DECLARE @min_growth_mb INT = $(param.min_growth_mb);
DECLARE @volumes TABLE (file_id INT NOT NULL PRIMARY KEY, mount_point NVARCHAR(512) NULL, free_mb BIGINT NULL, total_mb BIGINT NULL);

-- Azure SQL Database and Managed Instance (5, 8) have no such function: their services limit sizes, not disks.
IF CAST(SERVERPROPERTY(N'EngineEdition') AS INT) NOT IN (5, 8)
    AND EXISTS (SELECT 1 FROM sys.system_objects WHERE name = N'dm_os_volume_stats')
    INSERT @volumes (file_id, mount_point, free_mb, total_mb)
    EXECUTE sys.sp_executesql N'SELECT f.file_id, v.volume_mount_point, v.available_bytes / 1048576, v.total_bytes / 1048576
FROM sys.database_files AS f CROSS APPLY sys.dm_os_volume_stats(DB_ID(), f.file_id) AS v;';

-- Sizes of files are in pages of 8 KB: 128 are a megabyte. max_size -1 is no limit, and 268435456 that of a log.
SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name, f.name AS file_name, f.type_desc,
    f.physical_name, f.size / 128 AS size_mb, u.used_mb, CASE WHEN f.max_size > 0 THEN f.max_size / 128 END AS max_size_mb,
    CASE WHEN f.is_percent_growth = 1 THEN CONCAT(f.growth, N'%') ELSE CONCAT(f.growth / 128, N' MB') END AS growth,
    v.mount_point AS volume, v.free_mb AS volume_free_mb, v.total_mb AS volume_mb,
    NULLIF(CONCAT(
        CASE WHEN f.is_percent_growth = 1 THEN N'It grows by a percentage: each growth is larger than the one before. ' END,
        CASE WHEN f.is_percent_growth = 0 AND f.growth > 0 AND f.growth / 128 < @min_growth_mb THEN N'It grows in small parts. ' END,
        CASE WHEN f.growth = 0 AND u.free_percent < @min_free_percent THEN N'It is almost full and does not grow. ' END,
        CASE WHEN f.growth > 0 AND f.max_size > 0 AND 100E0 * (f.max_size - f.size) / NULLIF(f.max_size, 0) < @min_free_percent
            AND u.free_percent < @min_free_percent THEN N'It has almost reached its limit. ' END,
        CASE WHEN f.growth > 0 AND 100E0 * v.free_mb / NULLIF(v.total_mb, 0) < @min_free_percent THEN N'Its volume is almost full. ' END),
        N'') AS finding
FROM sys.database_files AS f
LEFT JOIN @volumes AS v ON v.file_id = f.file_id
CROSS APPLY
(
    SELECT FILEPROPERTY(f.name, 'SpaceUsed') / 128 AS used_mb,
        100E0 * (f.size - FILEPROPERTY(f.name, 'SpaceUsed')) / NULLIF(f.size, 0) AS free_percent
) AS u
WHERE f.type IN (0, 1)
ORDER BY f.file_id;
