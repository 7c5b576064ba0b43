CREATE VIEW INFORMATION_SCHEMA.VIEW_TABLE_USAGE AS
SELECT DB_NAME() AS VIEW_CATALOG, vs.name AS VIEW_SCHEMA, v.name AS VIEW_NAME, DB_NAME() AS TABLE_CATALOG, s.name AS TABLE_SCHEMA, o.name AS TABLE_NAME
FROM sys.views AS v
JOIN sys.schemas AS vs ON vs.schema_id = v.schema_id
JOIN sys.objects AS o ON o.type IN ('U', 'V') AND EXISTS (SELECT 1 FROM sys.sql_expression_dependencies AS d WHERE d.referencing_id = v.object_id AND d.referenced_class = 1 AND d.referenced_id = o.object_id)
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
