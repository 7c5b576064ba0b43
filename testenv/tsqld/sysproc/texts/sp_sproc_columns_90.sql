CREATE PROCEDURE sys.sp_sproc_columns_90
    @procedure_name nvarchar(390) = N'%', @procedure_owner nvarchar(384) = NULL, @procedure_qualifier sysname = NULL, @column_name nvarchar(384) = NULL,
    @ODBCVer int = 2, @fUsePattern bit = 1
AS
-- Documentation: sp_sproc_columns; ODBC, SQLProcedureColumns.
IF @procedure_qualifier <> DB_NAME()
BEGIN
    IF @procedure_qualifier = N''
        SELECT @procedure_name = N'', @procedure_owner = N''; -- what is in no database: nothing
    ELSE
    BEGIN
        RAISERROR(15250, -1, -1);
        RETURN 1;
    END
END
IF @procedure_name LIKE N'%;[01]'
    SET @procedure_name = LEFT(@procedure_name, LEN(@procedure_name) - 2);
DECLARE @id int = CASE WHEN @procedure_owner IS NULL AND (@fUsePattern = 0 OR @procedure_name NOT LIKE N'%[%_[]%') THEN OBJECT_ID(QUOTENAME(@procedure_name)) END;
SELECT CAST(DB_NAME() AS sysname) AS PROCEDURE_QUALIFIER, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS PROCEDURE_OWNER,
    CAST(o.name + CASE o.type WHEN 'P' THEN N';1' ELSE N';0' END AS nvarchar(134)) AS PROCEDURE_NAME, p.COLUMN_NAME, CAST(p.COLUMN_TYPE AS smallint) AS COLUMN_TYPE,
    CAST(CASE WHEN p.data_type_28 = -9 THEN -9 ELSE CASE WHEN @ODBCVer < 3 THEN p.data_type_2 ELSE p.data_type END END AS smallint) AS DATA_TYPE, p.TYPE_NAME, CAST(CASE WHEN @ODBCVer < 3 THEN p.precision + p.precision_2_less ELSE p.precision END AS int) AS PRECISION, CAST(CASE WHEN p.data_type_28 = -9 AND p.data_type <> -9 THEN 2 * p.precision ELSE p.length END AS int) AS LENGTH, CAST(p.scale AS smallint) AS SCALE,
    CAST(CASE WHEN p.radix = 2 AND @ODBCVer < 3 THEN 10 ELSE p.radix END AS smallint) AS RADIX, CAST(CASE p.COLUMN_TYPE WHEN 5 THEN 0 WHEN 3 THEN 0 ELSE 1 END AS smallint) AS NULLABLE,
    CAST(CASE p.COLUMN_TYPE WHEN 3 THEN 'Result table returned by table valued function' END AS varchar(254)) AS REMARKS, CAST(NULL AS nvarchar(4000)) AS COLUMN_DEF,
    CAST(CASE WHEN p.data_type_28 = -9 THEN -9 ELSE p.sql_data_type END AS smallint) AS SQL_DATA_TYPE, CAST(CASE WHEN p.data_type_28 <> -9 THEN p.sql_datetime_sub END AS smallint) AS SQL_DATETIME_SUB, CAST(p.octet_length AS int) AS CHAR_OCTET_LENGTH, p.ORDINAL_POSITION,
    CAST(CASE p.COLUMN_TYPE WHEN 5 THEN 'NO' WHEN 3 THEN 'NO' ELSE 'YES' END AS varchar(254)) AS IS_NULLABLE, CAST(NULL AS sysname) AS SS_UDT_CATALOG_NAME, CAST(NULL AS sysname) AS SS_UDT_SCHEMA_NAME,
    CAST(NULL AS nvarchar(4000)) AS SS_UDT_ASSEMBLY_TYPE_NAME, CAST(NULL AS sysname) AS SS_XML_SCHEMACOLLECTION_CATALOG_NAME,
    CAST(NULL AS sysname) AS SS_XML_SCHEMACOLLECTION_SCHEMA_NAME, CAST(NULL AS sysname) AS SS_XML_SCHEMACOLLECTION_NAME, CAST(p.ss_data_type AS tinyint) AS SS_DATA_TYPE
FROM sys.all_objects AS o
JOIN (
    SELECT t.object_id, CAST(CASE WHEN q.parameter_id = 0 THEN N'@RETURN_VALUE' ELSE t.name END AS sysname) AS COLUMN_NAME,
        CASE WHEN q.parameter_id = 0 THEN 5 WHEN q.is_output = 1 THEN 2 ELSE 1 END AS COLUMN_TYPE, CAST(q.parameter_id AS int) AS ORDINAL_POSITION, t.type_name AS TYPE_NAME,
        t.data_type, t.data_type_2, t.data_type_28, t.precision, t.precision_2_less, t.length, t.scale, t.radix, t.sql_data_type, t.sql_datetime_sub, t.octet_length, t.ss_data_type,
        CAST(NULL AS sysname) AS type_catalog, CAST(NULL AS sysname) AS type_schema
    FROM sys.parameters AS q
    JOIN sys.spt_typed_odbc_view AS t ON t.object_id = q.object_id AND t.ordinal = -q.parameter_id
    WHERE t.ordinal < 0 OR EXISTS (SELECT * FROM sys.objects AS f WHERE f.object_id = q.object_id AND f.type = 'FN')
    UNION ALL -- the return code of a procedure
    SELECT f.object_id, N'@RETURN_VALUE', 5, 0, N'int', 4, 4, 4, 10, 0, 4, 0, 10, 4, NULL, NULL, 56, NULL, NULL
    FROM sys.procedures AS f
    UNION ALL -- the table that a function returns
    SELECT f.object_id, N'@TABLE_RETURN_VALUE', 3, 0, N'table', NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL
    FROM sys.objects AS f
    WHERE f.type IN ('TF', 'IF')
    UNION ALL -- table-valued parameters: SQL_SS_TABLE
    SELECT q.object_id, q.name, 1, CAST(q.parameter_id AS int), u.name, -153, -153, -153, 0, 0, 2147483647, 0, NULL, -153, NULL, 2147483647, 0, DB_NAME(), SCHEMA_NAME(u.schema_id)
    FROM sys.parameters AS q
    JOIN sys.table_types AS u ON u.user_type_id = q.user_type_id
) AS p ON p.object_id = o.object_id
WHERE o.type IN ('P', 'FN', 'TF', 'IF') AND (o.object_id = @id OR @id IS NULL
        AND (@procedure_name IS NULL OR @fUsePattern = 1 AND o.name LIKE @procedure_name OR @fUsePattern = 0 AND o.name = @procedure_name)
        AND (@procedure_owner IS NULL OR @fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @procedure_owner OR @fUsePattern = 0 AND SCHEMA_NAME(o.schema_id) = @procedure_owner))
    AND (@column_name IS NULL OR @fUsePattern = 1 AND p.COLUMN_NAME LIKE @column_name OR @fUsePattern = 0 AND p.COLUMN_NAME = @column_name)
ORDER BY 1, 2, 3, p.ORDINAL_POSITION;
