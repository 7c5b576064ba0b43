CREATE PROCEDURE sys.sp_pkeys @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL
AS
-- Documentation: sp_pkeys; ODBC, SQLPrimaryKeys.
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(CASE WHEN @table_owner IS NULL THEN QUOTENAME(@table_name) ELSE QUOTENAME(@table_owner) + N'.' + QUOTENAME(@table_name) END);
SELECT CAST(DB_NAME() AS sysname) AS TABLE_QUALIFIER, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS TABLE_OWNER, CAST(o.name AS sysname) AS TABLE_NAME, c.name AS COLUMN_NAME,
    CAST(x.key_ordinal AS smallint) AS KEY_SEQ, CAST(k.name AS sysname) AS PK_NAME
FROM sys.key_constraints AS k
JOIN sys.objects AS o ON o.object_id = k.parent_object_id
JOIN sys.index_columns AS x ON x.object_id = k.parent_object_id AND x.index_id = k.unique_index_id AND x.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
WHERE k.type = 'PK' AND k.parent_object_id = @id
ORDER BY 1, 2, 3, 5;
