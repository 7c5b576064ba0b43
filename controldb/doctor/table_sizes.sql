-- Rows and pages of the tables. Metadata that everybody sees who may use the tables; no table is read.
SELECT CONCAT(s.name, N'.', t.name) AS table_name,
    COALESCE((SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = t.object_id AND p.index_id IN (0, 1)), 0) AS row_count,
    COALESCE((
        SELECT SUM(u.total_pages)
        FROM sys.partitions AS p
        INNER JOIN sys.allocation_units AS u ON u.container_id = p.partition_id
        WHERE p.object_id = t.object_id
    ), 0) AS pages
FROM sys.tables AS t
INNER JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE s.name = N'jobs_internal';
