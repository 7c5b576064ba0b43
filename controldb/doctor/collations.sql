-- Columns with a collation other than the database's, except those that are declared so: names that are compared exactly.
SELECT CONCAT(s.name, N'.', t.name) AS table_name, c.name AS column_name, c.collation_name
FROM sys.schemas AS s
INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id
INNER JOIN sys.columns AS c ON c.object_id = t.object_id
WHERE s.name = N'jobs_internal'
    AND c.collation_name <> CAST(DATABASEPROPERTYEX(DB_NAME(), N'Collation') AS NVARCHAR(128))
    AND NOT (c.collation_name = N'Latin1_General_100_BIN2' AND t.name IN (N'rest_jobs', N'tenants', N'tenant_subscriptions'))
ORDER BY t.name, c.name;
