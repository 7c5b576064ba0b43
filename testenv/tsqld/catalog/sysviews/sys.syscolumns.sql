CREATE VIEW sys.syscolumns AS
SELECT c.name, c.object_id AS id, c.system_type_id AS xtype, CAST(CASE c.is_nullable WHEN 1 THEN 0 ELSE 1 END AS tinyint) AS typestat, CAST(c.user_type_id AS smallint) AS xusertype,
    c.max_length AS length, c.precision AS xprec, c.scale AS xscale, CAST(c.column_id AS smallint) AS colid, CAST(c.column_id AS smallint) AS xoffset, CAST(0 AS tinyint) AS bitpos,
    CAST(0 AS tinyint) AS reserved, CAST(CASE c.is_identity WHEN 1 THEN 1 ELSE 0 END AS smallint) AS colstat, c.default_object_id AS cdefault, c.rule_object_id AS domain,
    CAST(0 AS smallint) AS number, CAST(c.column_id AS smallint) AS colorder, CAST(NULL AS varbinary(8000)) AS autoval, CAST(c.column_id AS smallint) AS offset,
    CAST(NULL AS int) AS collationid,
    CAST(CASE c.is_nullable WHEN 1 THEN 8 ELSE 0 END + CASE c.is_identity WHEN 1 THEN 128 ELSE 0 END AS tinyint) AS status,
    c.system_type_id AS type, CAST(c.user_type_id AS smallint) AS usertype, CAST(NULL AS varchar(255)) AS printfmt,
    CAST(CASE WHEN c.max_length = -1 THEN -1 WHEN c.system_type_id IN (231, 239) THEN c.max_length / 2 WHEN c.system_type_id IN (167, 175, 165, 173) THEN c.max_length
        WHEN c.precision > 0 THEN c.precision END AS smallint) AS prec,
    CAST(CASE WHEN c.precision > 0 THEN c.scale END AS int) AS scale, CAST(c.is_computed AS int) AS iscomputed, CAST(0 AS int) AS isoutparam,
    CAST(c.is_nullable AS int) AS isnullable, c.collation_name AS collation
FROM sys.all_columns AS c
UNION ALL
SELECT p.name, p.object_id, p.system_type_id, CAST(0 AS tinyint), CAST(p.user_type_id AS smallint),
    p.max_length, p.precision, p.scale, CAST(p.parameter_id AS smallint), CAST(p.parameter_id AS smallint), CAST(0 AS tinyint),
    CAST(0 AS tinyint), CAST(CASE p.is_output WHEN 1 THEN 4 ELSE 0 END AS smallint), 0, 0,
    CAST(1 AS smallint), CAST(p.parameter_id AS smallint), CAST(NULL AS varbinary(8000)), CAST(p.parameter_id AS smallint),
    CAST(NULL AS int),
    CAST(8 + CASE p.is_output WHEN 1 THEN 64 ELSE 0 END AS tinyint),
    p.system_type_id, CAST(p.user_type_id AS smallint), CAST(NULL AS varchar(255)),
    CAST(CASE WHEN p.max_length = -1 THEN -1 WHEN p.system_type_id IN (231, 239) THEN p.max_length / 2 WHEN p.system_type_id IN (167, 175, 165, 173) THEN p.max_length
        WHEN p.precision > 0 THEN p.precision END AS smallint),
    CAST(CASE WHEN p.precision > 0 THEN p.scale END AS int), 0, CAST(p.is_output AS int),
    1, CAST(NULL AS sysname)
FROM sys.parameters AS p
