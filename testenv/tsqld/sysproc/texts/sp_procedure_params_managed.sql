CREATE PROCEDURE sys.sp_procedure_params_managed
    @procedure_name sysname, @group_number int = NULL, @procedure_schema sysname = NULL, @parameter_name sysname = NULL
AS
-- SqlCommandBuilder.DeriveParameters of SqlClient (SqlCommand.cs), for SQL Server 2000 and 2005.
SELECT PROCEDURE_CATALOG, PROCEDURE_SCHEMA, PROCEDURE_NAME, PARAMETER_NAME, ORDINAL_POSITION, PARAMETER_TYPE,
    PARAMETER_HASDEFAULT, IS_NULLABLE, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE,
    TYPE_NAME,
    CAST(NULL AS sysname) AS UDT_CATALOG, CAST(NULL AS sysname) AS UDT_SCHEMA, CAST(NULL AS sysname) AS UDT_NAME,
    CAST(NULL AS sysname) AS XML_CATALOGNAME, CAST(NULL AS sysname) AS XML_SCHEMANAME, CAST(NULL AS sysname) AS XML_SCHEMACOLLECTIONNAME
FROM sys.spt_procedure_params
WHERE PROCEDURE_NAME = @procedure_name AND (PROCEDURE_SCHEMA = @procedure_schema OR ISNULL(@procedure_schema, N'') = N'')
    AND (PARAMETER_NAME = @parameter_name OR ISNULL(@parameter_name, N'') = N'')
ORDER BY object_id, ORDINAL_POSITION;
