-- Reports the indexes that the optimizer has missed most. They are hints for a person: they overlap, they know no index that exists
-- already, they ignore the cost of writes, and are forgotten when the server starts.
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-db-missing-index-group-stats-transact-sql
SET NOCOUNT ON;
DECLARE @most INT = $(param.most);
DECLARE @min_benefit FLOAT = $(param.min_benefit);

SELECT TOP (@most) SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name,
    OBJECT_SCHEMA_NAME(d.object_id) AS schema_name, OBJECT_NAME(d.object_id) AS table_name, d.equality_columns, d.inequality_columns,
    d.included_columns, g.user_seeks, g.user_scans, g.avg_total_user_cost, g.avg_user_impact, g.last_user_seek,
    CAST(b.benefit AS DECIMAL(38, 2)) AS benefit
FROM sys.dm_db_missing_index_details AS d
JOIN sys.dm_db_missing_index_groups AS x ON x.index_handle = d.index_handle
JOIN sys.dm_db_missing_index_group_stats AS g ON g.group_handle = x.index_group_handle
-- What all queries would have saved, in the optimizer's units of cost.
CROSS APPLY (SELECT (g.user_seeks + g.user_scans) * g.avg_total_user_cost * g.avg_user_impact / 100 AS benefit) AS b
WHERE d.database_id = DB_ID() AND b.benefit >= @min_benefit
ORDER BY b.benefit DESC;
