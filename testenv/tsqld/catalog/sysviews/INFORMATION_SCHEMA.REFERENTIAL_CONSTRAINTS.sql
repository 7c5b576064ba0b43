CREATE VIEW INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS
SELECT DB_NAME() AS CONSTRAINT_CATALOG, s.name AS CONSTRAINT_SCHEMA, f.name AS CONSTRAINT_NAME, DB_NAME() AS UNIQUE_CONSTRAINT_CATALOG, rs.name AS UNIQUE_CONSTRAINT_SCHEMA,
    i.name AS UNIQUE_CONSTRAINT_NAME, CAST('SIMPLE' AS varchar(7)) AS MATCH_OPTION,
    CAST(REPLACE(f.update_referential_action_desc, '_', ' ') AS varchar(11)) AS UPDATE_RULE, CAST(REPLACE(f.delete_referential_action_desc, '_', ' ') AS varchar(11)) AS DELETE_RULE
FROM sys.foreign_keys AS f
JOIN sys.schemas AS s ON s.schema_id = f.schema_id
JOIN sys.tables AS r ON r.object_id = f.referenced_object_id
JOIN sys.schemas AS rs ON rs.schema_id = r.schema_id
JOIN sys.indexes AS i ON i.object_id = f.referenced_object_id AND i.index_id = f.key_index_id
