CREATE VIEW sys.systypes AS
SELECT t.name, t.system_type_id AS xtype, CAST(CASE t.is_nullable WHEN 1 THEN 0 ELSE 1 END AS tinyint) AS status, CAST(t.user_type_id AS smallint) AS xusertype, t.max_length AS length,
    t.precision AS xprec, t.scale AS xscale, t.default_object_id AS tdefault, t.rule_object_id AS domain, CAST(t.schema_id AS smallint) AS uid, CAST(0 AS smallint) AS reserved,
    CAST(NULL AS int) AS collationid, CAST(t.user_type_id AS smallint) AS usertype, CAST(0 AS bit) AS variable, t.is_nullable AS allownulls, t.system_type_id AS type,
    CAST(CASE WHEN t.system_type_id IN (231, 239) THEN t.max_length / 2 WHEN t.system_type_id IN (167, 175, 165, 173) THEN t.max_length WHEN t.precision > 0 THEN t.precision END AS smallint) AS prec,
    t.scale, t.collation_name AS collation
FROM sys.types AS t
