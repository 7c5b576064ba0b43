CREATE PROCEDURE sys.sp_special_columns
    @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL, @col_type char(1) = 'R', @scope char(1) = 'T', @nullable char(1) = 'U', @ODBCVer int = 2
AS
-- Documentation: sp_special_columns; ODBC, SQLSpecialColumns.
IF @col_type NOT IN ('R', 'V')
BEGIN
    RAISERROR(15251, -1, -1, N'col_type', N'''R'' or ''V''');
    RETURN 1;
END
IF @scope NOT IN ('C', 'T')
BEGIN
    RAISERROR(15251, -1, -1, N'scope', N'''C'' or ''T''');
    RETURN 1;
END
IF @nullable NOT IN ('U', 'O')
BEGIN
    RAISERROR(15251, -1, -1, N'nullable', N'''U'' or ''O''');
    RETURN 1;
END
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(CASE WHEN @table_owner IS NULL THEN QUOTENAME(@table_name) ELSE QUOTENAME(@table_owner) + N'.' + QUOTENAME(@table_name) END);
-- The best row identifier is the primary key, or else the unfiltered unique index with the fewest columns.
DECLARE @index int = (
    SELECT TOP (1) i.index_id
    FROM sys.indexes AS i
    WHERE i.object_id = @id AND i.is_unique = 1 AND i.has_filter = 0 AND (@nullable = 'U' OR NOT EXISTS (
        SELECT * FROM sys.index_columns AS x JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
        WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0 AND c.is_nullable = 1))
    ORDER BY i.is_primary_key DESC, (SELECT COUNT(*) FROM sys.index_columns AS x WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0), i.index_id);
SELECT CAST(CASE WHEN @col_type = 'V' THEN NULL WHEN @scope = 'C' THEN 0 ELSE 1 END AS smallint) AS SCOPE, v.COLUMN_NAME,
    CAST(CASE WHEN @ODBCVer >= 3 AND v.data_type_28 = 11 THEN 93 ELSE v.data_type_28 END AS smallint) AS DATA_TYPE, v.TYPE_NAME,
    CAST(CASE WHEN @ODBCVer < 3 THEN v.precision + v.precision_2_less ELSE v.precision END AS int) AS PRECISION, CAST(CASE WHEN v.data_type_28 = -9 AND v.data_type <> -9 THEN 2 * v.precision ELSE v.length END AS int) AS LENGTH, CAST(v.scale AS smallint) AS SCALE,
    CAST(1 AS smallint) AS PSEUDO_COLUMN
FROM sys.spt_columns_odbc_view AS v
JOIN sys.columns AS c ON c.object_id = v.object_id AND c.name = v.COLUMN_NAME
LEFT JOIN sys.index_columns AS x ON x.object_id = c.object_id AND x.column_id = c.column_id AND x.index_id = @index AND x.key_ordinal > 0
WHERE v.object_id = @id AND (@col_type = 'R' AND x.key_ordinal > 0 OR @col_type = 'V' AND c.system_type_id = 189)
ORDER BY x.key_ordinal;
