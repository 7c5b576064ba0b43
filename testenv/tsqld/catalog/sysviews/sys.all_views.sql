CREATE VIEW sys.all_views AS
SELECT o.name, o.object_id, o.principal_id, o.schema_id, o.parent_object_id, o.type, o.type_desc, o.create_date, o.modify_date, o.is_ms_shipped, o.is_published, o.is_schema_published
FROM sys.all_objects AS o
WHERE o.type = 'V'
