-- Lock escalation of tables of the schema.
SELECT CONCAT(s.name, N'.', t.name) AS table_name, t.lock_escalation_desc
FROM sys.schemas AS s
INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id
WHERE s.name = N'jobs_internal'
ORDER BY t.name;
