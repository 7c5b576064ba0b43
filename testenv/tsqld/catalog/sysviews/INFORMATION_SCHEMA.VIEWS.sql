CREATE VIEW INFORMATION_SCHEMA.VIEWS AS
SELECT DB_NAME() AS TABLE_CATALOG, s.name AS TABLE_SCHEMA, v.name AS TABLE_NAME, CAST(m.definition AS nvarchar(4000)) AS VIEW_DEFINITION,
    CAST(CASE v.with_check_option WHEN 1 THEN 'CASCADE' ELSE 'NONE' END AS varchar(7)) AS CHECK_OPTION, CAST('NO' AS varchar(2)) AS IS_UPDATABLE
FROM sys.views AS v
JOIN sys.schemas AS s ON s.schema_id = v.schema_id
LEFT JOIN sys.sql_modules AS m ON m.object_id = v.object_id
