-- All objects and user-defined types in the schemas, and the schemas themselves. The object of a table type is in the schema sys
-- (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-table-types-transact-sql).
SELECT s.name AS schema_name, o.name, o.type_desc AS kind
FROM sys.schemas AS s
INNER JOIN sys.objects AS o ON o.schema_id = s.schema_id
WHERE s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
    AND (o.parent_object_id = 0 OR o.type = 'TR')
    AND o.is_ms_shipped = 0
UNION ALL
SELECT s.name, t.name, N'TYPE'
FROM sys.schemas AS s
INNER JOIN sys.types AS t ON t.schema_id = s.schema_id
WHERE s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
UNION ALL
SELECT s.name, N'', N'SCHEMA'
FROM sys.schemas AS s
WHERE s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
ORDER BY 1, 2;
