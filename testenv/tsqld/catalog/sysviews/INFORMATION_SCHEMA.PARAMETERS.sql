CREATE VIEW INFORMATION_SCHEMA.PARAMETERS AS
SELECT DB_NAME() AS SPECIFIC_CATALOG, s.name AS SPECIFIC_SCHEMA, o.name AS SPECIFIC_NAME, p.parameter_id AS ORDINAL_POSITION,
    CAST(CASE WHEN p.parameter_id = 0 THEN 'OUT' WHEN p.is_output = 1 THEN 'INOUT' ELSE 'IN' END AS nvarchar(10)) AS PARAMETER_MODE,
    CAST(CASE WHEN p.parameter_id = 0 THEN 'YES' ELSE 'NO' END AS nvarchar(10)) AS IS_RESULT, CAST('NO' AS nvarchar(10)) AS AS_LOCATOR, p.name AS PARAMETER_NAME,
    CAST(COALESCE(t.name, 'table type') AS sysname) AS DATA_TYPE,
    CASE WHEN p.system_type_id IN (231, 239) AND p.max_length > 0 THEN p.max_length / 2 WHEN p.system_type_id IN (167, 175, 165, 173, 231, 239) THEN CAST(p.max_length AS int) END AS CHARACTER_MAXIMUM_LENGTH,
    CASE WHEN p.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN p.precision END AS NUMERIC_PRECISION,
    CASE WHEN p.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN CAST(p.scale AS int) END AS NUMERIC_SCALE,
    CAST(CASE WHEN p.system_type_id IN (40, 41, 42, 43, 58, 61) THEN p.scale END AS smallint) AS DATETIME_PRECISION,
    CASE WHEN p.user_type_id > 256 THEN us.name END AS USER_DEFINED_TYPE_SCHEMA, CASE WHEN p.user_type_id > 256 THEN u.name END AS USER_DEFINED_TYPE_NAME
FROM sys.parameters AS p
JOIN sys.objects AS o ON o.object_id = p.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.types AS t ON t.user_type_id = p.system_type_id
LEFT JOIN sys.types AS u ON u.user_type_id = p.user_type_id
LEFT JOIN sys.schemas AS us ON us.schema_id = u.schema_id
