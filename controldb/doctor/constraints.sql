-- Foreign keys and CHECK constraints of the schema that are disabled, or were when rows changed.
SELECT CONCAT(s.name, N'.', t.name) AS table_name, c.name AS constraint_name, c.is_disabled
FROM sys.schemas AS s
INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id
INNER JOIN (
    SELECT parent_object_id, name, is_disabled, is_not_trusted FROM sys.foreign_keys
    UNION ALL
    SELECT parent_object_id, name, is_disabled, is_not_trusted FROM sys.check_constraints
) AS c ON c.parent_object_id = t.object_id
WHERE s.name = N'jobs_internal'
    AND (c.is_disabled = 1 OR c.is_not_trusted = 1)
ORDER BY t.name, c.name;
