CREATE VIEW sys.all_sql_modules AS
SELECT *
FROM sys.sql_modules
UNION ALL
SELECT *
FROM sys.system_sql_modules
