CREATE PROCEDURE sys.sp_fkeys
    @pktable_name sysname = NULL, @pktable_owner sysname = NULL, @pktable_qualifier sysname = NULL,
    @fktable_name sysname = NULL, @fktable_owner sysname = NULL, @fktable_qualifier sysname = NULL
AS
-- Documentation: sp_fkeys; ODBC, SQLForeignKeys.
IF @pktable_name IS NULL AND @fktable_name IS NULL
BEGIN
    RAISERROR(15252, -1, -1);
    RETURN -6;
END
IF @pktable_qualifier <> DB_NAME() OR @fktable_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @pk int = OBJECT_ID(CASE WHEN @pktable_owner IS NULL THEN QUOTENAME(@pktable_name) ELSE QUOTENAME(@pktable_owner) + N'.' + QUOTENAME(@pktable_name) END);
DECLARE @fk int = OBJECT_ID(CASE WHEN @fktable_owner IS NULL THEN QUOTENAME(@fktable_name) ELSE QUOTENAME(@fktable_owner) + N'.' + QUOTENAME(@fktable_name) END);
SELECT CAST(DB_NAME() AS sysname) AS PKTABLE_QUALIFIER, CAST(SCHEMA_NAME(p.schema_id) AS sysname) AS PKTABLE_OWNER, CAST(p.name AS sysname) AS PKTABLE_NAME, pc.name AS PKCOLUMN_NAME,
    CAST(DB_NAME() AS sysname) AS FKTABLE_QUALIFIER, CAST(SCHEMA_NAME(t.schema_id) AS sysname) AS FKTABLE_OWNER, CAST(t.name AS sysname) AS FKTABLE_NAME, tc.name AS FKCOLUMN_NAME,
    ISNULL(CAST(x.constraint_column_id AS smallint), 0) AS KEY_SEQ,
    CAST(CASE f.update_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE f.update_referential_action END AS smallint) AS UPDATE_RULE,
    CAST(CASE f.delete_referential_action WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE f.delete_referential_action END AS smallint) AS DELETE_RULE,
    CAST(f.name AS sysname) AS FK_NAME, i.name AS PK_NAME, CAST(7 AS smallint) AS DEFERRABILITY
FROM sys.foreign_keys AS f
JOIN sys.foreign_key_columns AS x ON x.constraint_object_id = f.object_id
JOIN sys.tables AS p ON p.object_id = f.referenced_object_id
JOIN sys.tables AS t ON t.object_id = f.parent_object_id
JOIN sys.columns AS pc ON pc.object_id = x.referenced_object_id AND pc.column_id = x.referenced_column_id
JOIN sys.columns AS tc ON tc.object_id = x.parent_object_id AND tc.column_id = x.parent_column_id
LEFT JOIN sys.indexes AS i ON i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id
WHERE (@pktable_name IS NULL OR f.referenced_object_id = @pk) AND (@fktable_name IS NULL OR f.parent_object_id = @fk)
ORDER BY CASE WHEN @fktable_name IS NULL THEN SCHEMA_NAME(t.schema_id) ELSE SCHEMA_NAME(p.schema_id) END, CASE WHEN @fktable_name IS NULL THEN t.name ELSE p.name END, 12, 9;
