-- Columns of texts with their collations, except those that are declared with another one: names that are compared exactly.
SELECT
    CONCAT(s.name, N'.', t.name) AS table_name,
    c.name AS column_name,
    CONCAT(
        UPPER(TYPE_NAME(c.system_type_id)),
        N'(',
        CASE
            WHEN c.max_length = -1 THEN N'MAX'
            WHEN TYPE_NAME(c.system_type_id) LIKE N'n%' THEN CAST(c.max_length / 2 AS NVARCHAR(10))
            ELSE CAST(c.max_length AS NVARCHAR(10))
        END,
        N')'
    ) AS type_name,
    c.is_nullable,
    c.collation_name
FROM sys.schemas AS s
INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id
INNER JOIN sys.columns AS c ON c.object_id = t.object_id
WHERE s.name = N'jobs_internal'
    AND c.collation_name IS NOT NULL
    AND NOT (c.collation_name = N'Latin1_General_100_BIN2' AND t.name IN (N'rest_jobs', N'tenants', N'tenant_subscriptions'))
ORDER BY t.name, c.name;
