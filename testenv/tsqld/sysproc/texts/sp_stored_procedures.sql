CREATE PROCEDURE sys.sp_stored_procedures @sp_name nvarchar(390) = NULL, @sp_owner nvarchar(384) = NULL, @sp_qualifier sysname = NULL, @fUsePattern bit = 1
AS
-- Documentation: sp_stored_procedures; ODBC, SQLProcedures. The name has a suffix: 1 for a
-- procedure, 0 for a function.
IF @sp_qualifier <> DB_NAME()
BEGIN
    IF @sp_qualifier = N''
        SELECT @sp_name = N'', @sp_owner = N'', @fUsePattern = 0; -- what is in no database: nothing
    ELSE
    BEGIN
        RAISERROR(15250, -1, -1);
        RETURN 1;
    END
END
DECLARE @id int = CASE WHEN @sp_owner IS NULL AND (@fUsePattern = 0 OR @sp_name NOT LIKE N'%[%_[]%') THEN OBJECT_ID(QUOTENAME(@sp_name)) END;
SELECT CAST(DB_NAME() AS sysname) AS PROCEDURE_QUALIFIER, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS PROCEDURE_OWNER,
    CAST(o.name + CASE o.type WHEN 'P' THEN N';1' ELSE N';0' END AS nvarchar(134)) AS PROCEDURE_NAME,
    -1 AS NUM_INPUT_PARAMS, -1 AS NUM_OUTPUT_PARAMS, -1 AS NUM_RESULT_SETS, CAST(NULL AS varchar(254)) AS REMARKS, CAST(2 AS smallint) AS PROCEDURE_TYPE
FROM sys.all_objects AS o
WHERE o.type IN ('P', 'FN', 'TF', 'IF') AND (o.object_id = @id OR @id IS NULL
    AND (@sp_name IS NULL OR @fUsePattern = 1 AND o.name LIKE @sp_name OR @fUsePattern = 0 AND o.name = @sp_name)
    AND (@sp_owner IS NULL OR @fUsePattern = 1 AND SCHEMA_NAME(o.schema_id) LIKE @sp_owner OR @fUsePattern = 0 AND SCHEMA_NAME(o.schema_id) = @sp_owner))
ORDER BY 1, 2, 3;
