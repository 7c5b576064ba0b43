CREATE VIEW sys.all_objects AS
SELECT *
FROM sys.objects
UNION ALL
SELECT *
FROM sys.system_objects
