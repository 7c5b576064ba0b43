CREATE PROCEDURE sys.sp_indexes_managed @Catalog sysname = NULL, @Owner sysname = NULL, @Table sysname = NULL, @Name sysname = NULL
AS
-- For the collection Indexes of SqlConnection.GetSchema (documentation: SQL Server schema collections).
SELECT CAST(DB_NAME() AS sysname) AS constraint_catalog, s.name AS constraint_schema, i.name AS constraint_name, CAST(DB_NAME() AS sysname) AS table_catalog, s.name AS table_schema,
    t.name AS table_name, i.name AS index_name, i.type_desc
FROM sys.indexes AS i
JOIN sys.objects AS t ON t.object_id = i.object_id AND t.type IN ('U', 'V')
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE i.index_id > 0 AND i.is_hypothetical = 0 AND (DB_NAME() = @Catalog OR @Catalog IS NULL) AND (s.name = @Owner OR @Owner IS NULL) AND (t.name = @Table OR @Table IS NULL)
    AND (i.name = @Name OR @Name IS NULL)
ORDER BY table_name, index_name;
