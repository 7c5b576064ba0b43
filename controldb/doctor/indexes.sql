-- The columns of all indexes on tables of the schema.
SELECT
    CONCAT(s.name, N'.', t.name) AS table_name,
    i.name AS index_name,
    i.is_unique,
    i.is_disabled,
    i.filter_definition,
    c.name AS column_name,
    ic.is_descending_key,
    ic.is_included_column
FROM sys.schemas AS s
INNER JOIN sys.tables AS t ON t.schema_id = s.schema_id
INNER JOIN sys.indexes AS i ON i.object_id = t.object_id
INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
INNER JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE s.name = N'jobs_internal'
    AND i.is_hypothetical = 0
ORDER BY t.name, i.name, ic.is_included_column, ic.key_ordinal, ic.index_column_id;
