CREATE FUNCTION sys.dm_sql_referencing_entities(@name nvarchar(517), @class nvarchar(60))
RETURNS TABLE
AS
-- Documentation: sys.dm_sql_referencing_entities. A caller-dependent name in EXECUTE matches every
-- object with that name.
RETURN (
    SELECT CAST(SCHEMA_NAME(o.schema_id) AS sysname) AS referencing_schema_name, o.name AS referencing_entity_name, o.object_id AS referencing_id, d.referencing_class, d.referencing_class_desc,
        CAST(MAX(CAST(d.is_caller_dependent AS int)) AS bit) AS is_caller_dependent
    FROM sys.sql_expression_dependencies AS d
    JOIN sys.objects AS o ON o.object_id = d.referencing_id
    WHERE o.object_id <> ISNULL(OBJECT_ID(@name), 0) AND (@class = N'OBJECT' AND d.referenced_class = 1
            AND (d.referenced_id = OBJECT_ID(@name) OR d.is_caller_dependent = 1 AND d.referenced_id IS NULL AND d.referenced_entity_name = PARSENAME(@name, 1))
        OR @class = N'TYPE' AND d.referenced_class = 6 AND d.referenced_id = TYPE_ID(@name))
    GROUP BY o.schema_id, o.name, o.object_id, d.referencing_class, d.referencing_class_desc
)
