CREATE PROCEDURE sys.sp_columns_managed
    @Catalog sysname = NULL, @Owner sysname = NULL, @Table sysname = NULL, @Column sysname = NULL, @SchemaType int = 0
AS
-- SqlConnection.GetSchema: @SchemaType is 0 for the collection Columns, 1 for AllColumns, 2 for ColumnSetColumns
-- (documentation: SQL Server schema collections). In SQL Server, Columns leaves out the sparse columns of tables with a
-- column set. There are no column sets here.
SELECT i.TABLE_CATALOG, i.TABLE_SCHEMA, i.TABLE_NAME, i.COLUMN_NAME, i.ORDINAL_POSITION, i.COLUMN_DEFAULT, i.IS_NULLABLE, i.DATA_TYPE, i.CHARACTER_MAXIMUM_LENGTH, i.CHARACTER_OCTET_LENGTH,
    i.NUMERIC_PRECISION, i.NUMERIC_PRECISION_RADIX, i.NUMERIC_SCALE, i.DATETIME_PRECISION, i.CHARACTER_SET_CATALOG, i.CHARACTER_SET_SCHEMA, i.CHARACTER_SET_NAME, i.COLLATION_CATALOG,
    CAST(c.is_sparse AS bit) AS IS_SPARSE, CAST(c.is_column_set AS bit) AS IS_COLUMN_SET, CAST(c.is_filestream AS bit) AS IS_FILESTREAM
FROM INFORMATION_SCHEMA.COLUMNS AS i
JOIN sys.columns AS c ON c.object_id = OBJECT_ID(QUOTENAME(i.TABLE_SCHEMA) + N'.' + QUOTENAME(i.TABLE_NAME)) AND c.name = i.COLUMN_NAME
WHERE (i.TABLE_CATALOG = @Catalog OR @Catalog IS NULL) AND (i.TABLE_SCHEMA = @Owner OR @Owner IS NULL) AND (i.TABLE_NAME = @Table OR @Table IS NULL)
    AND (i.COLUMN_NAME = @Column OR @Column IS NULL) AND (@SchemaType <> 2 OR c.is_column_set = 1)
ORDER BY i.TABLE_CATALOG, i.TABLE_SCHEMA, i.TABLE_NAME, i.COLUMN_NAME;
