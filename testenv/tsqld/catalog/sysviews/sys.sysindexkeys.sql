CREATE VIEW sys.sysindexkeys AS
SELECT k.object_id AS id, CAST(k.index_id AS smallint) AS indid, CAST(k.column_id AS smallint) AS colid, CAST(k.key_ordinal AS smallint) AS keyno
FROM sys.index_columns AS k
WHERE k.key_ordinal > 0
