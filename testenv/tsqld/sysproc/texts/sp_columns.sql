CREATE PROCEDURE sys.sp_columns
    @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, @column_name nvarchar(384) = NULL, @ODBCVer int = 2, @fUsePattern bit = 1
AS
-- Documentation: sp_columns; ODBC, SQLColumns. For clients older than SQL Server 2005, newer types
-- are replaced: the date types of 2008 by nvarchar, and types without a limit by text, ntext or image.
IF @table_qualifier <> DB_NAME()
BEGIN
    IF @table_qualifier = N''
        SELECT @table_name = N'', @table_owner = N''; -- what is in no database: nothing
    ELSE
    BEGIN
        RAISERROR(15250, -1, -1);
        RETURN 1;
    END
END
DECLARE @id int = CASE WHEN @table_owner IS NULL AND (@fUsePattern = 0 OR @table_name NOT LIKE N'%[%_[]%') THEN OBJECT_ID(QUOTENAME(@table_name)) END;
SELECT TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, COLUMN_NAME, CAST(CASE WHEN @ODBCVer >= 3 AND data_type_28 = 11 THEN 93 ELSE data_type_28 END AS smallint) AS DATA_TYPE, TYPE_NAME,
    CAST(CASE data_type_28 WHEN -10 THEN 1073741823 WHEN -1 THEN 2147483647 WHEN -4 THEN 2147483647 ELSE CASE WHEN @ODBCVer < 3 THEN precision + precision_2_less ELSE precision END END AS int) AS PRECISION, CAST(CASE WHEN data_type_28 = -10 THEN 2147483646 WHEN data_type_28 IN (-1, -4) THEN 2147483647 WHEN data_type_28 = -9 AND data_type <> -9 THEN 2 * precision ELSE length END AS int) AS LENGTH, CAST(scale AS smallint) AS SCALE,
    CAST(CASE WHEN radix = 2 AND @ODBCVer < 3 THEN 10 ELSE radix END AS smallint) AS RADIX, NULLABLE, CAST(NULL AS varchar(254)) AS REMARKS, COLUMN_DEF,
    CAST(CASE data_type_28 WHEN 11 THEN 9 ELSE data_type_28 END AS smallint) AS SQL_DATA_TYPE, CAST(CASE data_type_28 WHEN 11 THEN 3 END AS smallint) AS SQL_DATETIME_SUB,
    CAST(CASE WHEN data_type_28 = -10 THEN 2147483646 WHEN data_type_28 IN (-1, -4) THEN 2147483647 ELSE octet_length END AS int) AS CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE, SS_DATA_TYPE
FROM sys.spt_columns_odbc_view
WHERE (object_id = @id OR @id IS NULL
        AND (@table_name IS NULL OR @fUsePattern = 1 AND TABLE_NAME LIKE @table_name OR @fUsePattern = 0 AND TABLE_NAME = @table_name)
        AND (@table_owner IS NULL OR @fUsePattern = 1 AND TABLE_OWNER LIKE @table_owner OR @fUsePattern = 0 AND TABLE_OWNER = @table_owner))
    AND (@column_name IS NULL OR @fUsePattern = 1 AND COLUMN_NAME LIKE @column_name OR @fUsePattern = 0 AND COLUMN_NAME = @column_name)
ORDER BY TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, ORDINAL_POSITION;
