-- Modules of the two schemas that were created with QUOTED_IDENTIFIER or ANSI_NULLS off.
SELECT CONCAT(s.name, N'.', o.name) AS name
FROM sys.schemas AS s
INNER JOIN sys.objects AS o ON o.schema_id = s.schema_id
INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id
WHERE s.name IN (N'jobs', N'jobs_internal', N'jobs_rest')
    AND (m.uses_quoted_identifier = 0 OR m.uses_ansi_nulls = 0)
ORDER BY s.name, o.name;
