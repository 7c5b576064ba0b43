CREATE VIEW INFORMATION_SCHEMA.ROUTINE_COLUMNS AS
SELECT DB_NAME() AS TABLE_CATALOG, s.name AS TABLE_SCHEMA, o.name AS TABLE_NAME, c.name AS COLUMN_NAME, c.column_id AS ORDINAL_POSITION,
    CAST(d.definition AS nvarchar(4000)) AS COLUMN_DEFAULT, CAST(CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END AS varchar(3)) AS IS_NULLABLE,
    ISNULL(t.name, N'') AS DATA_TYPE,
    CASE WHEN c.system_type_id IN (231, 239) AND c.max_length > 0 THEN c.max_length / 2
        WHEN c.system_type_id IN (167, 175, 165, 173, 231, 239, 241) THEN CAST(c.max_length AS int)
        WHEN c.system_type_id IN (34, 35) THEN 2147483647 WHEN c.system_type_id = 99 THEN 1073741823 WHEN c.system_type_id = 98 THEN 0 END AS CHARACTER_MAXIMUM_LENGTH,
    CASE WHEN c.system_type_id IN (167, 175, 165, 173, 231, 239, 241) THEN CAST(c.max_length AS int)
        WHEN c.system_type_id IN (34, 35) THEN 2147483647 WHEN c.system_type_id = 99 THEN 2147483646 WHEN c.system_type_id = 98 THEN 0 END AS CHARACTER_OCTET_LENGTH,
    CASE WHEN c.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN c.precision END AS NUMERIC_PRECISION,
    CAST(CASE WHEN c.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN c.system_type_id IN (59, 62) THEN 2 END AS smallint) AS NUMERIC_PRECISION_RADIX,
    CASE WHEN c.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN CAST(c.scale AS int) END AS NUMERIC_SCALE,
    CAST(CASE WHEN c.system_type_id = 40 THEN 0 WHEN c.system_type_id = 58 THEN 0 WHEN c.system_type_id IN (41, 42, 43, 61) THEN c.scale END AS smallint) AS DATETIME_PRECISION,
    CAST(NULL AS sysname) AS CHARACTER_SET_CATALOG, CAST(NULL AS sysname) AS CHARACTER_SET_SCHEMA,
    CAST(CASE WHEN c.system_type_id IN (35, 167, 175) THEN 'iso_1' WHEN c.system_type_id IN (99, 231, 239) THEN 'UNICODE' END AS sysname) AS CHARACTER_SET_NAME,
    CAST(NULL AS sysname) AS COLLATION_CATALOG, CAST(NULL AS sysname) AS COLLATION_SCHEMA, c.collation_name AS COLLATION_NAME,
    CAST(CASE WHEN c.user_type_id > 256 THEN DB_NAME() END AS sysname) AS DOMAIN_CATALOG, CAST(CASE WHEN u.user_type_id > 256 THEN us.name END AS sysname) AS DOMAIN_SCHEMA,
    CASE WHEN u.user_type_id > 256 THEN u.name END AS DOMAIN_NAME
FROM sys.columns AS c
JOIN sys.objects AS o ON o.object_id = c.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.types AS t ON t.user_type_id = c.system_type_id
LEFT JOIN sys.types AS u ON u.user_type_id = c.user_type_id
LEFT JOIN sys.schemas AS us ON us.schema_id = u.schema_id
LEFT JOIN sys.default_constraints AS d ON d.object_id = c.default_object_id
WHERE o.type IN ('TF', 'IF')
