CREATE VIEW sys.system_objects AS
SELECT name, object_id, principal_id, schema_id, parent_object_id, type, type_desc, create_date, modify_date, is_ms_shipped, is_published, is_schema_published
FROM sys.all_objects
WHERE object_id < 0 AND object_id > -1000000
