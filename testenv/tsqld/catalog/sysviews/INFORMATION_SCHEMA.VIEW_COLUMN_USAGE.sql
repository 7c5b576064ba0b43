CREATE VIEW INFORMATION_SCHEMA.VIEW_COLUMN_USAGE AS
SELECT DB_NAME() AS VIEW_CATALOG, vs.name AS VIEW_SCHEMA, v.name AS VIEW_NAME, DB_NAME() AS TABLE_CATALOG, s.name AS TABLE_SCHEMA, o.name AS TABLE_NAME, u.name AS COLUMN_NAME
FROM sys.spt_view_columns AS u
JOIN sys.views AS v ON v.object_id = u.view_id
JOIN sys.schemas AS vs ON vs.schema_id = v.schema_id
JOIN sys.objects AS o ON o.object_id = u.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
