CREATE VIEW sys.parameter_type_usages AS
SELECT p.object_id, p.parameter_id, p.user_type_id
FROM sys.parameters AS p
WHERE p.user_type_id > 256
