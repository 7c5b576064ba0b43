CREATE PROCEDURE sys.sp_tables
    @table_name nvarchar(384) = NULL, @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, @table_type varchar(100) = NULL, @fUsePattern bit = 1
AS
-- Documentation: sp_tables; ODBC, SQLTables. It lists databases, schemas or types if one argument is '%' and the others
-- are empty.
IF @table_qualifier = N'%' AND @table_owner = N'' AND @table_name = N''
    SELECT CAST(name AS sysname) AS TABLE_QUALIFIER, CAST(NULL AS sysname) AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME, CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.databases
    WHERE HAS_DBACCESS(name) = 1
    ORDER BY 1;
ELSE IF @table_owner = N'%' AND @table_qualifier = N'' AND @table_name = N''
    SELECT CAST(NULL AS sysname) AS TABLE_QUALIFIER, name AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME, CAST(NULL AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.schemas
    ORDER BY 2;
ELSE IF @table_type = '%' AND @table_qualifier = N'' AND @table_owner = N'' AND @table_name = N''
    SELECT CAST(NULL AS sysname) AS TABLE_QUALIFIER, CAST(NULL AS sysname) AS TABLE_OWNER, CAST(NULL AS sysname) AS TABLE_NAME, CAST(name AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM (VALUES ('SYSTEM TABLE'), ('TABLE'), ('VIEW')) AS t (name)
    ORDER BY 4;
ELSE
BEGIN
    IF @table_qualifier <> DB_NAME()
    BEGIN
        IF @table_qualifier = N''
            SELECT @table_name = N'', @table_owner = N'', @fUsePattern = 0; -- what is in no database: nothing
        ELSE
        BEGIN
            RAISERROR(15250, -1, -1);
            RETURN 1;
        END
    END
    DECLARE @id int = CASE WHEN @table_owner IS NULL AND (@fUsePattern = 0 OR @table_name NOT LIKE N'%[%_[]%') THEN OBJECT_ID(QUOTENAME(@table_name)) END;
    SELECT CAST(DB_NAME() AS sysname) AS TABLE_QUALIFIER, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS TABLE_OWNER, o.name AS TABLE_NAME,
        CAST(CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'S' THEN 'SYSTEM TABLE' ELSE 'VIEW' END AS varchar(32)) AS TABLE_TYPE, CAST(NULL AS varchar(254)) AS REMARKS
    FROM sys.all_objects AS o
    WHERE o.type IN ('U', 'S', 'V')
        AND (@table_type IS NULL OR @table_type = '%' OR @table_type = '' OR @table_type LIKE CASE o.type WHEN 'U' THEN '%''TABLE''%' WHEN 'S' THEN '%''SYSTEM TABLE''%' ELSE '%''VIEW''%' END)
        AND (o.object_id = @id OR @id IS NULL
            AND (@table_name IS NULL OR @fUsePattern = 1 AND o.name LIKE @table_name OR @fUsePattern = 0 AND o.name = @table_name)
            AND (@table_owner IS NULL OR @fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @table_owner OR @fUsePattern = 0 AND SCHEMA_NAME(o.schema_id) = @table_owner))
    ORDER BY 4, 1, 2, 3;
END
