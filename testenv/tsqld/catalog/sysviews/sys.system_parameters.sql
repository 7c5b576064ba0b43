CREATE VIEW sys.system_parameters AS
SELECT *
FROM sys.parameters
WHERE object_id < 0
