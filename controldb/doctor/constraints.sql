-- Foreign keys and CHECK constraints of the schema, with what they say: of foreign keys the columns, and the table and columns that they
-- reference.
SELECT
    CONCAT(s.name, N'.', t.name) AS table_name,
    c.name AS constraint_name,
    c.is_disabled,
    c.is_not_trusted,
    COALESCE(c.definition, N'') AS definition
FROM sys.schemas AS s
INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id
INNER JOIN (
    SELECT
        f.parent_object_id,
        f.name,
        f.is_disabled,
        f.is_not_trusted,
        (
            SELECT CONCAT(
                STRING_AGG(CAST(p.name AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY k.constraint_column_id),
                N' > ', OBJECT_SCHEMA_NAME(f.referenced_object_id), N'.', OBJECT_NAME(f.referenced_object_id), N' ',
                STRING_AGG(CAST(r.name AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY k.constraint_column_id),
                CASE WHEN f.delete_referential_action = 1 THEN N' cascade' END
            )
            FROM sys.foreign_key_columns AS k
            INNER JOIN sys.columns AS p ON p.object_id = k.parent_object_id AND p.column_id = k.parent_column_id
            INNER JOIN sys.columns AS r ON r.object_id = k.referenced_object_id AND r.column_id = k.referenced_column_id
            WHERE k.constraint_object_id = f.object_id
        ) COLLATE Latin1_General_100_BIN2 AS definition
    FROM sys.foreign_keys AS f
    UNION ALL
    SELECT parent_object_id, name, is_disabled, is_not_trusted, definition COLLATE Latin1_General_100_BIN2
    FROM sys.check_constraints
) AS c ON c.parent_object_id = t.object_id
WHERE s.name = N'jobs_internal'
ORDER BY t.name, c.name;
