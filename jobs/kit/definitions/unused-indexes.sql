-- Reports nonclustered indexes that were written but never read since the server has started. Usage is counted on each replica for
-- itself, and from the start only: an index that a report of the end of the quarter needs looks unused for three months.
-- Indexes of keys, unique indexes and those that are disabled are left out. The command is for the reader; nothing is dropped.
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-db-index-usage-stats-transact-sql
SET NOCOUNT ON;
DECLARE @min_days INT = $(param.min_days);
DECLARE @min_mb INT = $(param.min_mb);
DECLARE @days INT = (SELECT DATEDIFF(DAY, sqlserver_start_time, GETDATE()) FROM sys.dm_os_sys_info);
IF @days < @min_days
    PRINT CONCAT(N'The server has started ', @days, N' days ago, which is less than the parameter min_days. Nothing is reported.');

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name, s.name AS schema_name,
    o.name AS table_name, i.name AS index_name,
    @days AS days_counted, ISNULL(u.user_updates, 0) AS updates, z.row_count, CAST(z.pages / 128 AS INT) AS size_mb,
    N'DROP INDEX ' + QUOTENAME(i.name) + N' ON ' + QUOTENAME(s.name) + N'.' + QUOTENAME(o.name) + N';' AS command
FROM sys.indexes AS i
JOIN sys.objects AS o ON o.object_id = i.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.dm_db_index_usage_stats AS u ON u.database_id = DB_ID() AND u.object_id = i.object_id AND u.index_id = i.index_id
CROSS APPLY
(
    SELECT SUM(p.used_page_count) AS pages, SUM(p.row_count) AS row_count
    FROM sys.dm_db_partition_stats AS p WHERE p.object_id = i.object_id AND p.index_id = i.index_id
) AS z
WHERE @days >= @min_days AND o.is_ms_shipped = 0 AND o.type = 'U' AND i.type = 2 AND i.is_unique = 0 AND i.is_primary_key = 0
    AND i.is_unique_constraint = 0 AND i.is_disabled = 0 AND i.is_hypothetical = 0 AND z.pages / 128 >= @min_mb
    AND ISNULL(u.user_seeks, 0) = 0 AND ISNULL(u.user_scans, 0) = 0 AND ISNULL(u.user_lookups, 0) = 0
ORDER BY ISNULL(u.user_updates, 0) DESC, z.pages DESC, s.name, o.name, i.name;
