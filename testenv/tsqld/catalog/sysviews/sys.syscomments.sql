CREATE VIEW sys.syscomments AS
SELECT m.object_id AS id, CAST(0 AS smallint) AS number, CAST(n.value + 1 AS smallint) AS colid, CAST(0 AS smallint) AS status, CAST(NULL AS varbinary(8000)) AS ctext,
    CAST(2 AS smallint) AS texttype, CAST(0 AS smallint) AS language, CAST(CASE WHEN m.definition IS NULL THEN 1 ELSE 0 END AS bit) AS encrypted, CAST(0 AS bit) AS compressed,
    SUBSTRING(m.definition, n.value * 4000 + 1, 4000) AS text
FROM (
    SELECT s.object_id, s.definition FROM sys.sql_modules AS s
    UNION ALL
    SELECT c.object_id, c.definition FROM sys.check_constraints AS c
    UNION ALL
    SELECT d.object_id, d.definition FROM sys.default_constraints AS d
) AS m
CROSS APPLY GENERATE_SERIES(0, CASE WHEN LEN(m.definition) > 4000 THEN (LEN(m.definition) - 1) / 4000 ELSE 0 END) AS n
