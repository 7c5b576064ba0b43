CREATE VIEW sys.system_columns AS
SELECT *
FROM sys.all_columns
WHERE object_id < 0 AND object_id > -1000000
