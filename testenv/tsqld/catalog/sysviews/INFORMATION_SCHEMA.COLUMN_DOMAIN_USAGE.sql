CREATE VIEW INFORMATION_SCHEMA.COLUMN_DOMAIN_USAGE AS
SELECT DB_NAME() AS DOMAIN_CATALOG, us.name AS DOMAIN_SCHEMA, u.name AS DOMAIN_NAME, DB_NAME() AS TABLE_CATALOG, s.name AS TABLE_SCHEMA, o.name AS TABLE_NAME, c.name AS COLUMN_NAME
FROM sys.columns AS c
JOIN sys.objects AS o ON o.object_id = c.object_id
JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.types AS u ON u.user_type_id = c.user_type_id
JOIN sys.schemas AS us ON us.schema_id = u.schema_id
WHERE u.is_user_defined = 1 AND o.type IN ('U', 'V')
