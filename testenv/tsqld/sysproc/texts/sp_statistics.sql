CREATE PROCEDURE sys.sp_statistics
    @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL, @index_name sysname = N'%', @is_unique char(1) = 'N', @accuracy char(1) = 'Q'
AS
-- Documentation: sp_statistics; ODBC, SQLStatistics. The numbers are always current, regardless of @accuracy.
-- The number of pages is unknown.
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
IF @accuracy NOT IN ('Q', 'E')
BEGIN
    RAISERROR(15251, -1, -1, N'accuracy', N'''Q'' or ''E''');
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(CASE WHEN @table_owner IS NULL THEN QUOTENAME(@table_name) ELSE QUOTENAME(@table_owner) + N'.' + QUOTENAME(@table_name) END);
SELECT CAST(DB_NAME() AS sysname) AS TABLE_QUALIFIER, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS TABLE_OWNER, o.name AS TABLE_NAME, CAST(NULL AS smallint) AS NON_UNIQUE,
    CAST(NULL AS sysname) AS INDEX_QUALIFIER, CAST(NULL AS sysname) AS INDEX_NAME, CAST(0 AS smallint) AS TYPE, CAST(NULL AS smallint) AS SEQ_IN_INDEX,
    CAST(NULL AS sysname) AS COLUMN_NAME, CAST(NULL AS char(1)) AS COLLATION, CAST(p.rows AS int) AS CARDINALITY, CAST(NULL AS int) AS PAGES, CAST(NULL AS varchar(128)) AS FILTER_CONDITION
FROM sys.objects AS o
JOIN sys.partitions AS p ON p.object_id = o.object_id AND p.index_id IN (0, 1)
WHERE o.object_id = @id
UNION ALL
SELECT CAST(DB_NAME() AS sysname), CAST(SCHEMA_NAME(o.schema_id) AS sysname), o.name, CAST(1 - i.is_unique AS smallint), o.name, i.name,
    CAST(CASE i.type WHEN 1 THEN 1 ELSE 3 END AS smallint), CAST(x.key_ordinal AS smallint), c.name, CAST(CASE x.is_descending_key WHEN 1 THEN 'D' ELSE 'A' END AS char(1)),
    CAST(p.rows AS int), CAST(NULL AS int), CAST(NULL AS varchar(128))
FROM sys.objects AS o
JOIN sys.indexes AS i ON i.object_id = o.object_id AND i.type IN (1, 2) AND i.is_hypothetical = 0
JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
LEFT JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
WHERE o.object_id = @id AND i.name LIKE @index_name AND (@is_unique <> 'Y' OR i.is_unique = 1)
ORDER BY 4, 7, 6, 8;
