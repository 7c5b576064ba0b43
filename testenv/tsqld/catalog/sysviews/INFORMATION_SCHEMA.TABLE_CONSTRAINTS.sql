CREATE VIEW INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS
SELECT DB_NAME() AS CONSTRAINT_CATALOG, s.name AS CONSTRAINT_SCHEMA, c.name AS CONSTRAINT_NAME, DB_NAME() AS TABLE_CATALOG, ts.name AS TABLE_SCHEMA, t.name AS TABLE_NAME,
    CAST(CASE c.type WHEN 'PK' THEN 'PRIMARY KEY' WHEN 'UQ' THEN 'UNIQUE' WHEN 'F' THEN 'FOREIGN KEY' ELSE 'CHECK' END AS varchar(11)) AS CONSTRAINT_TYPE,
    CAST('NO' AS varchar(2)) AS IS_DEFERRABLE, CAST('NO' AS varchar(2)) AS INITIALLY_DEFERRED
FROM sys.objects AS c
JOIN sys.schemas AS s ON s.schema_id = c.schema_id
JOIN sys.tables AS t ON t.object_id = c.parent_object_id
JOIN sys.schemas AS ts ON ts.schema_id = t.schema_id
WHERE c.type IN ('PK', 'UQ', 'F', 'C')
