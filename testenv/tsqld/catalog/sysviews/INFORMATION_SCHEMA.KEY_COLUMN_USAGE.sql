CREATE VIEW INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS
SELECT DB_NAME() AS CONSTRAINT_CATALOG, s.name AS CONSTRAINT_SCHEMA, k.name AS CONSTRAINT_NAME, DB_NAME() AS TABLE_CATALOG, s.name AS TABLE_SCHEMA, t.name AS TABLE_NAME,
    c.name AS COLUMN_NAME, CAST(ic.key_ordinal AS int) AS ORDINAL_POSITION
FROM sys.key_constraints AS k
JOIN sys.tables AS t ON t.object_id = k.parent_object_id
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.index_columns AS ic ON ic.object_id = k.parent_object_id AND ic.index_id = k.unique_index_id AND ic.is_included_column = 0
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
UNION ALL
SELECT DB_NAME(), s.name, f.name, DB_NAME(), s.name, t.name, c.name, fc.constraint_column_id
FROM sys.foreign_keys AS f
JOIN sys.tables AS t ON t.object_id = f.parent_object_id
JOIN sys.schemas AS s ON s.schema_id = t.schema_id
JOIN sys.foreign_key_columns AS fc ON fc.constraint_object_id = f.object_id
JOIN sys.columns AS c ON c.object_id = fc.parent_object_id AND c.column_id = fc.parent_column_id
