CREATE VIEW sys.spt_typed_odbc_view AS
-- The ODBC properties of all columns and parameters, by object_id and the ID of the column or the negated ID of the
-- parameter. The size of a column of unlimited length is 0 (documentation: SQL Server Native Client, "Large value types").
SELECT x.object_id, x.ordinal, x.name, x.is_nullable, x.is_identity, x.type_name,
    d.data_type, d.data_type_2, CASE WHEN x.max_length = -1 AND d.system_type_id = 167 THEN -1 WHEN x.max_length = -1 AND d.system_type_id = 231 THEN -10
        WHEN x.max_length = -1 AND d.system_type_id = 165 THEN -4 ELSE d.data_type_28 END AS data_type_28,
    CASE WHEN d.system_type_id IN (106, 108) THEN CAST(x.precision AS int) WHEN x.max_length = -1 THEN 0 WHEN d.system_type_id IN (231, 239) THEN x.max_length / 2
        WHEN d.system_type_id IN (165, 167, 173, 175) THEN CAST(x.max_length AS int) WHEN d.system_type_id IN (41, 42, 43) THEN CAST(x.precision AS int) ELSE d.precision END AS precision,
    d.precision_2 - d.precision AS precision_2_less,
    CASE WHEN d.system_type_id IN (106, 108) THEN x.precision + 2 WHEN x.max_length = -1 THEN 0 WHEN d.system_type_id IN (165, 167, 173, 175, 231, 239) THEN CAST(x.max_length AS int)
        ELSE d.length END AS length,
    CASE WHEN d.system_type_id IN (106, 108, 41, 42, 43) THEN CAST(x.scale AS int) WHEN d.system_type_id IN (98, 104, 40) THEN NULL ELSE d.minimum_scale END AS scale,
    d.radix, d.sql_data_type, d.sql_datetime_sub,
    CASE WHEN x.max_length = -1 THEN 0 WHEN d.system_type_id IN (165, 167, 173, 175, 231, 239) THEN CAST(x.max_length AS int) WHEN d.system_type_id IN (34, 35, 99) THEN d.length END AS octet_length,
    CASE x.is_nullable WHEN 1 THEN d.ss_type_null ELSE d.ss_type END AS ss_data_type, d.system_type_id
FROM (
    SELECT c.object_id, c.column_id AS ordinal, c.name, c.is_nullable, c.is_identity, t.name AS type_name, c.system_type_id, c.max_length, c.precision, c.scale
    FROM sys.all_columns AS c
    JOIN sys.types AS t ON t.user_type_id = c.user_type_id
    UNION ALL
    SELECT p.object_id, -p.parameter_id, p.name, CAST(1 AS bit), CAST(0 AS bit), t.name, p.system_type_id, p.max_length, p.precision, p.scale
    FROM sys.parameters AS p
    JOIN sys.types AS t ON t.user_type_id = p.user_type_id
) AS x
JOIN sys.spt_datatype_info AS d ON d.system_type_id = x.system_type_id
