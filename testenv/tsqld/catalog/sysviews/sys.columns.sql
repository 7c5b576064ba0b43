CREATE VIEW sys.columns AS
SELECT *
FROM sys.all_columns
WHERE (object_id > 0 OR object_id <= -1000000)
