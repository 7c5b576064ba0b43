CREATE VIEW INFORMATION_SCHEMA.ROUTINES AS
SELECT DB_NAME() AS SPECIFIC_CATALOG, s.name AS SPECIFIC_SCHEMA, o.name AS SPECIFIC_NAME, DB_NAME() AS ROUTINE_CATALOG, s.name AS ROUTINE_SCHEMA, o.name AS ROUTINE_NAME,
    CAST(CASE o.type WHEN 'P' THEN 'PROCEDURE' ELSE 'FUNCTION' END AS nvarchar(20)) AS ROUTINE_TYPE,
    CAST(CASE WHEN o.type IN ('IF', 'TF') THEN 'TABLE' ELSE t.name END AS sysname) AS DATA_TYPE,
    CASE WHEN p.system_type_id IN (231, 239) AND p.max_length > 0 THEN p.max_length / 2 WHEN p.system_type_id IN (167, 175, 165, 173, 231, 239) THEN CAST(p.max_length AS int) END AS CHARACTER_MAXIMUM_LENGTH,
    CAST('SQL' AS nvarchar(30)) AS ROUTINE_BODY, CAST(m.definition AS nvarchar(4000)) AS ROUTINE_DEFINITION,
    CAST('NO' AS nvarchar(10)) AS IS_DETERMINISTIC, CAST(CASE o.type WHEN 'P' THEN 'MODIFIES' ELSE 'READS' END AS nvarchar(30)) AS SQL_DATA_ACCESS,
    o.create_date AS CREATED, o.modify_date AS LAST_ALTERED
FROM sys.objects AS o
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.sql_modules AS m ON m.object_id = o.object_id
LEFT JOIN sys.parameters AS p ON p.object_id = o.object_id AND p.parameter_id = 0
LEFT JOIN sys.types AS t ON t.user_type_id = p.system_type_id
WHERE o.type IN ('P', 'FN', 'IF', 'TF')
