CREATE VIEW sys.sysindexes AS
SELECT i.object_id AS id, CASE WHEN i.is_unique = 1 THEN 2 ELSE 0 END + CASE WHEN i.index_id = 1 THEN 16 ELSE 0 END + CASE WHEN i.is_primary_key = 1 THEN 2048 ELSE 0 END
        + CASE WHEN i.is_unique_constraint = 1 THEN 4096 ELSE 0 END + CASE WHEN i.ignore_dup_key = 1 THEN 1 ELSE 0 END AS status,
    CAST(NULL AS binary(6)) AS first, CAST(i.index_id AS smallint) AS indid, CAST(NULL AS binary(6)) AS root, CAST(0 AS smallint) AS minlen,
    CAST((SELECT COUNT(*) FROM sys.index_columns AS k WHERE k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0) AS smallint) AS keycnt,
    CAST(i.data_space_id AS smallint) AS groupid, 0 AS dpages, 0 AS reserved, 0 AS used, COALESCE(p.rows, CAST(0 AS bigint)) AS rowcnt, 0 AS rowmodctr, CAST(0 AS tinyint) AS reserved3,
    CAST(0 AS tinyint) AS reserved4, CAST(0 AS smallint) AS xmaxlen, CAST(0 AS smallint) AS maxirow, i.fill_factor AS OrigFillFactor, CAST(0 AS tinyint) AS StatVersion, 0 AS reserved2,
    CAST(NULL AS binary(6)) AS FirstIAM, CAST(0 AS smallint) AS impid, CAST(0 AS smallint) AS lockflags, 0 AS pgmodctr, CAST(NULL AS varbinary(1088)) AS keys, i.name,
    CAST(NULL AS image) AS statblob, 0 AS maxlen, CAST(COALESCE(p.rows, CAST(0 AS bigint)) AS int) AS rows
FROM sys.indexes AS i
LEFT JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id
