CREATE VIEW sys.spt_procedure_params AS
-- The return values and parameters of procedures and scalar functions, for SqlCommandBuilder.DeriveParameters of
-- SqlClient (SqlCommand.cs): types by their numbers in .NET (SqlDbType) and OLE DB (DBTYPE), kinds as in DBPARAMTYPE.
-- The length of a (max) type is 0.
SELECT o.object_id, CAST(DB_NAME() AS sysname) AS PROCEDURE_CATALOG, CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS PROCEDURE_SCHEMA,
    o.name AS PROCEDURE_NAME, CAST(p.name AS sysname) AS PARAMETER_NAME, ISNULL(CAST(p.parameter_id AS smallint), 0) AS ORDINAL_POSITION,
    ISNULL(CAST(p.kind AS smallint), 0) AS PARAMETER_TYPE, ISNULL(CAST(IIF(d.object_id IS NULL, 0, 1) AS bit), 0) AS PARAMETER_HASDEFAULT,
    ISNULL(CAST(IIF(p.kind = 4, 0, 1) AS bit), 0) AS IS_NULLABLE, ISNULL(CAST(ISNULL(t.oledb, 143) AS smallint), 0) AS DATA_TYPE,
    CASE WHEN p.system_type_id = 99 THEN 1073741823 WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id IN (165, 167, 173, 175, 231, 239, 241) THEN
            IIF(p.max_length = -1, 0, p.max_length / IIF(p.system_type_id > 190, 2, 1))
        END AS CHARACTER_MAXIMUM_LENGTH,
    CASE WHEN p.system_type_id = 99 THEN 2147483646 WHEN p.system_type_id IN (34, 35) THEN 2147483647
        WHEN p.system_type_id IN (165, 167, 173, 175, 231, 239, 241) THEN IIF(p.max_length = -1, 0, CAST(p.max_length AS int))
        END AS CHARACTER_OCTET_LENGTH,
    CAST(IIF(p.system_type_id IN (48, 52, 56, 59, 60, 62, 104, 106, 108, 122, 127), p.precision, NULL) AS smallint) AS NUMERIC_PRECISION,
    CAST(IIF(p.system_type_id IN (106, 108), p.scale, NULL) AS smallint) AS NUMERIC_SCALE,
    ISNULL(CAST(ISNULL(t.managed, 30) AS smallint), 0) AS MANAGED_DATA_TYPE,
    CAST(IIF(u.name IS NULL, NULL, DB_NAME()) AS sysname) AS TYPE_CATALOG_NAME,
    CAST(SCHEMA_NAME(u.schema_id) AS sysname) AS TYPE_SCHEMA_NAME, CAST(ISNULL(u.name, t.name) AS sysname) AS TYPE_NAME,
    CAST(CASE WHEN p.system_type_id IN (41, 42, 43) THEN p.scale WHEN p.system_type_id = 61 THEN 3
        WHEN p.system_type_id IN (40, 58) THEN 0 END AS int) AS SS_DATETIME_PRECISION
FROM sys.objects AS o
JOIN (
    SELECT object_id, parameter_id, IIF(parameter_id = 0, N'@RETURN_VALUE', name) AS name,
        CASE WHEN parameter_id = 0 THEN 4 WHEN is_output = 1 THEN 2 ELSE 1 END AS kind,
        system_type_id, user_type_id, max_length, precision, scale
    FROM sys.parameters
    UNION ALL -- the return code of a procedure
    SELECT object_id, 0, N'@RETURN_VALUE', 4, 56, 56, 4, 10, 0
    FROM sys.procedures
) AS p ON p.object_id = o.object_id
LEFT JOIN sys.table_types AS u ON u.user_type_id = p.user_type_id
LEFT JOIN sys.spt_defaults AS d ON d.object_id = p.object_id AND d.parameter_id = p.parameter_id
LEFT JOIN (VALUES
    (104, N'bit', 2, 11), (48, N'tinyint', 20, 17), (52, N'smallint', 16, 2), (56, N'int', 8, 3), (127, N'bigint', 0, 20),
    (106, N'decimal', 5, 131), (108, N'numeric', 5, 131), (60, N'money', 9, 6), (122, N'smallmoney', 17, 6), (59, N'real', 13, 4),
    (62, N'float', 6, 5), (40, N'date', 31, 133), (41, N'time', 32, 145), (61, N'datetime', 4, 135), (58, N'smalldatetime', 15, 135),
    (42, N'datetime2', 33, 135), (43, N'datetimeoffset', 34, 146), (175, N'char', 3, 129), (167, N'varchar', 22, 129),
    (35, N'text', 18, 129), (239, N'nchar', 10, 130), (231, N'nvarchar', 12, 130), (99, N'ntext', 11, 130), (173, N'binary', 1, 128),
    (165, N'varbinary', 21, 128), (34, N'image', 7, 128), (189, N'timestamp', 19, 128), (36, N'uniqueidentifier', 14, 72),
    (241, N'xml', 25, 141), (98, N'sql_variant', 23, 12)
) AS t (system_type_id, name, managed, oledb) ON t.system_type_id = p.system_type_id
WHERE o.type IN ('P', 'FN')
