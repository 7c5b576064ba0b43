CREATE VIEW INFORMATION_SCHEMA.PARAMETERS AS
SELECT DB_NAME() AS SPECIFIC_CATALOG, s.name AS SPECIFIC_SCHEMA, o.name AS SPECIFIC_NAME, p.parameter_id AS ORDINAL_POSITION,
    CAST(CASE WHEN p.parameter_id = 0 THEN 'OUT' WHEN p.is_output = 1 THEN 'INOUT' ELSE 'IN' END AS nvarchar(10)) AS PARAMETER_MODE,
    CAST(CASE WHEN p.parameter_id = 0 THEN 'YES' ELSE 'NO' END AS nvarchar(10)) AS IS_RESULT, CAST('NO' AS nvarchar(10)) AS AS_LOCATOR, p.name AS PARAMETER_NAME,
    CAST(COALESCE(t.name, 'table type') AS sysname) AS DATA_TYPE,
    CASE WHEN p.system_type_id IN (231, 239) AND p.max_length > 0 THEN p.max_length / 2 WHEN p.system_type_id IN (167, 175, 165, 173, 231, 239, 241) THEN CAST(p.max_length AS int)
        WHEN p.system_type_id IN (34, 35) THEN 2147483647 WHEN p.system_type_id = 99 THEN 1073741823 END AS CHARACTER_MAXIMUM_LENGTH,
    CASE WHEN p.system_type_id IN (167, 175, 165, 173, 231, 239, 241) THEN CAST(p.max_length AS int)
        WHEN p.system_type_id IN (34, 35) THEN 2147483647 WHEN p.system_type_id = 99 THEN 2147483646 END AS CHARACTER_OCTET_LENGTH,
    CAST(NULL AS sysname) AS COLLATION_CATALOG, CAST(NULL AS sysname) AS COLLATION_SCHEMA,
    CAST(CASE WHEN p.system_type_id IN (35, 99, 167, 175, 231, 239) THEN DATABASEPROPERTYEX(DB_NAME(), 'Collation') END AS sysname) AS COLLATION_NAME,
    CAST(NULL AS sysname) AS CHARACTER_SET_CATALOG, CAST(NULL AS sysname) AS CHARACTER_SET_SCHEMA,
    CAST(CASE WHEN p.system_type_id IN (35, 167, 175) THEN 'iso_1' WHEN p.system_type_id IN (99, 231, 239) THEN 'UNICODE' END AS sysname) AS CHARACTER_SET_NAME,
    CASE WHEN p.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN p.precision END AS NUMERIC_PRECISION,
    CAST(CASE WHEN p.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN p.system_type_id IN (59, 62) THEN 2 END AS smallint) AS NUMERIC_PRECISION_RADIX,
    CASE WHEN p.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN CAST(p.scale AS int) END AS NUMERIC_SCALE,
    CAST(CASE WHEN p.system_type_id IN (40, 41, 42, 43, 58, 61) THEN p.scale END AS smallint) AS DATETIME_PRECISION,
    CAST(NULL AS nvarchar(30)) AS INTERVAL_TYPE, CAST(NULL AS smallint) AS INTERVAL_PRECISION, CAST(CASE WHEN p.user_type_id > 256 THEN DB_NAME() END AS sysname) AS USER_DEFINED_TYPE_CATALOG,
    CASE WHEN p.user_type_id > 256 THEN us.name END AS USER_DEFINED_TYPE_SCHEMA, CASE WHEN p.user_type_id > 256 THEN u.name END AS USER_DEFINED_TYPE_NAME,
    CAST(NULL AS sysname) AS SCOPE_CATALOG, CAST(NULL AS sysname) AS SCOPE_SCHEMA, CAST(NULL AS sysname) AS SCOPE_NAME
FROM sys.parameters AS p
JOIN sys.objects AS o ON o.object_id = p.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.types AS t ON t.user_type_id = p.system_type_id
LEFT JOIN sys.types AS u ON u.user_type_id = p.user_type_id
LEFT JOIN sys.schemas AS us ON us.schema_id = u.schema_id
