CREATE VIEW sys.all_views AS
SELECT *
FROM sys.views
UNION ALL
SELECT *
FROM sys.system_views
