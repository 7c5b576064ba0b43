CREATE PROCEDURE sys.sp_indexcolumns_managed @Catalog sysname = NULL, @Owner sysname = NULL, @Table sysname = NULL, @ConstraintName sysname = NULL, @Column sysname = NULL
AS
-- For the collection IndexColumns of SqlConnection.GetSchema (documentation: SQL Server schema collections). KeyType is
-- the number of the column's type.
SELECT CAST(DB_NAME() AS sysname) AS constraint_catalog, s.name AS constraint_schema, i.name AS constraint_name, CAST(DB_NAME() AS sysname) AS table_catalog, s.name AS table_schema,
    t.name AS table_name, c.name AS column_name, CAST(x.key_ordinal AS int) AS ordinal_position, c.system_type_id AS KeyType, i.name AS index_name
FROM sys.indexes AS i
JOIN sys.objects AS t ON t.object_id = i.object_id AND t.type IN ('U', 'V')
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
WHERE i.is_hypothetical = 0 AND (DB_NAME() = @Catalog OR @Catalog IS NULL) AND (s.name = @Owner OR @Owner IS NULL) AND (t.name = @Table OR @Table IS NULL)
    AND (i.name = @ConstraintName OR @ConstraintName IS NULL) AND (c.name = @Column OR @Column IS NULL)
ORDER BY table_name, index_name, ordinal_position;
