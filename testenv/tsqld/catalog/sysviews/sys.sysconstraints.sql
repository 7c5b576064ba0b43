CREATE VIEW sys.sysconstraints AS
SELECT o.object_id AS constid, o.parent_object_id AS id, CAST(COALESCE(d.parent_column_id, c.parent_column_id, 0) AS smallint) AS colid, CAST(0 AS tinyint) AS spare1,
    CASE o.type WHEN 'PK' THEN 1 WHEN 'UQ' THEN 2 WHEN 'F' THEN 3 WHEN 'C' THEN 4 ELSE 5 END
        + CASE WHEN COALESCE(d.parent_column_id, c.parent_column_id, 0) > 0 THEN 16 ELSE 32 END AS status,
    0 AS actions, 0 AS error
FROM sys.objects AS o
LEFT JOIN sys.default_constraints AS d ON d.object_id = o.object_id
LEFT JOIN sys.check_constraints AS c ON c.object_id = o.object_id
WHERE o.type IN ('PK', 'UQ', 'F', 'C', 'D')
