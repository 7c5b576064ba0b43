CREATE VIEW sys.column_type_usages AS
SELECT c.object_id, c.column_id, c.user_type_id
FROM sys.columns AS c
WHERE c.user_type_id > 256
