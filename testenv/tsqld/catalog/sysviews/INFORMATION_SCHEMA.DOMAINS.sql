CREATE VIEW INFORMATION_SCHEMA.DOMAINS AS
SELECT DB_NAME() AS DOMAIN_CATALOG, s.name AS DOMAIN_SCHEMA, t.name AS DOMAIN_NAME, CAST(COALESCE(b.name, 'table type') AS sysname) AS DATA_TYPE,
    CASE WHEN t.system_type_id IN (231, 239) AND t.max_length > 0 THEN t.max_length / 2 WHEN t.system_type_id IN (167, 175, 165, 173, 231, 239) THEN CAST(t.max_length AS int)
        WHEN t.system_type_id IN (34, 35) THEN 2147483647 WHEN t.system_type_id = 99 THEN 1073741823 END AS CHARACTER_MAXIMUM_LENGTH,
    CASE WHEN t.system_type_id IN (167, 175, 165, 173, 231, 239) THEN CAST(t.max_length AS int)
        WHEN t.system_type_id IN (34, 35) THEN 2147483647 WHEN t.system_type_id = 99 THEN 2147483646 END AS CHARACTER_OCTET_LENGTH,
    CAST(NULL AS varchar(6)) AS COLLATION_CATALOG, CAST(NULL AS varchar(3)) AS COLLATION_SCHEMA, t.collation_name AS COLLATION_NAME,
    CAST(NULL AS varchar(6)) AS CHARACTER_SET_CATALOG, CAST(NULL AS varchar(3)) AS CHARACTER_SET_SCHEMA,
    CAST(CASE WHEN t.system_type_id IN (35, 167, 175) THEN 'iso_1' WHEN t.system_type_id IN (99, 231, 239) THEN 'UNICODE' END AS sysname) AS CHARACTER_SET_NAME,
    CASE WHEN t.system_type_id IN (48, 52, 56, 59, 60, 62, 106, 108, 122, 127) THEN t.precision END AS NUMERIC_PRECISION,
    CAST(CASE WHEN t.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN 10 WHEN t.system_type_id IN (59, 62) THEN 2 END AS smallint) AS NUMERIC_PRECISION_RADIX,
    CASE WHEN t.system_type_id IN (48, 52, 56, 60, 106, 108, 122, 127) THEN CAST(t.scale AS tinyint) END AS NUMERIC_SCALE,
    CAST(CASE WHEN t.system_type_id IN (40, 41, 42, 43, 58, 61) THEN t.scale END AS smallint) AS DATETIME_PRECISION, CAST(NULL AS nvarchar(4000)) AS DOMAIN_DEFAULT
FROM sys.types AS t
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
LEFT JOIN sys.types AS b ON b.user_type_id = t.system_type_id
WHERE t.is_user_defined = 1
