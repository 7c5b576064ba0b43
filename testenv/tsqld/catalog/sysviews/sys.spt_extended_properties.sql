CREATE VIEW sys.spt_extended_properties AS
-- The extended properties with the types and names of the levels of their owners (documentation:
-- sp_addextendedproperty).
SELECT p.name, p.value, CAST(NULL AS varchar(128)) AS level0type, CAST(NULL AS sysname) AS level0name, CAST(NULL AS varchar(128)) AS level1type, CAST(NULL AS sysname) AS level1name,
    CAST(NULL AS varchar(128)) AS level2type, CAST(NULL AS sysname) AS level2name
FROM sys.extended_properties AS p
WHERE p.class = 0
UNION ALL
SELECT p.name, p.value, 'SCHEMA', s.name, NULL, NULL, NULL, NULL
FROM sys.extended_properties AS p
JOIN sys.schemas AS s ON s.schema_id = p.major_id
WHERE p.class = 3
UNION ALL
SELECT p.name, p.value, 'USER', u.name, NULL, NULL, NULL, NULL
FROM sys.extended_properties AS p
JOIN sys.database_principals AS u ON u.principal_id = p.major_id
WHERE p.class = 4
UNION ALL
SELECT p.name, p.value, 'FILEGROUP', N'PRIMARY', NULL, NULL, NULL, NULL
FROM sys.extended_properties AS p
WHERE p.class = 20
UNION ALL
SELECT p.name, p.value, 'SCHEMA', s.name, CASE t.is_table_type WHEN 1 THEN 'TABLE_TYPE' ELSE 'TYPE' END, t.name, CASE p.class WHEN 8 THEN 'COLUMN' END, c.name
FROM sys.extended_properties AS p
JOIN sys.types AS t ON t.user_type_id = p.major_id
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
LEFT JOIN sys.table_types AS tt ON tt.user_type_id = t.user_type_id
LEFT JOIN sys.all_columns AS c ON p.class = 8 AND c.object_id = tt.type_table_object_id AND c.column_id = p.minor_id
WHERE p.class IN (6, 8)
UNION ALL
SELECT p.name, p.value, 'SCHEMA', s.name, CASE o.type WHEN 'U' THEN 'TABLE' WHEN 'V' THEN 'VIEW' WHEN 'P' THEN 'PROCEDURE' WHEN 'SN' THEN 'SYNONYM' WHEN 'SO' THEN 'SEQUENCE' ELSE 'FUNCTION' END, o.name,
    CASE WHEN p.class = 2 THEN 'PARAMETER' WHEN p.class = 7 THEN 'INDEX' WHEN p.minor_id > 0 THEN 'COLUMN' END, COALESCE(q.name, i.name, c.name)
FROM sys.extended_properties AS p
JOIN sys.all_objects AS o ON o.object_id = p.major_id AND o.parent_object_id = 0
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.parameters AS q ON p.class = 2 AND q.object_id = p.major_id AND q.parameter_id = p.minor_id
LEFT JOIN sys.indexes AS i ON p.class = 7 AND i.object_id = p.major_id AND i.index_id = p.minor_id
LEFT JOIN sys.all_columns AS c ON p.class = 1 AND p.minor_id > 0 AND c.object_id = p.major_id AND c.column_id = p.minor_id
WHERE p.class IN (1, 2, 7)
UNION ALL
SELECT p.name, p.value, 'SCHEMA', s.name, CASE t.type WHEN 'U' THEN 'TABLE' WHEN 'V' THEN 'VIEW' ELSE 'TABLE_TYPE' END, t.name, CASE o.type WHEN 'TR' THEN 'TRIGGER' ELSE 'CONSTRAINT' END, o.name
FROM sys.extended_properties AS p
JOIN sys.all_objects AS o ON o.object_id = p.major_id
JOIN sys.all_objects AS t ON t.object_id = o.parent_object_id
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE p.class = 1
