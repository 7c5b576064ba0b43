CREATE VIEW sys.sysaltfiles AS
SELECT CAST(f.file_id AS smallint) AS fileid, CAST(f.data_space_id AS smallint) AS groupid, f.size, f.max_size AS maxsize, f.growth, CASE f.type WHEN 1 THEN 66 ELSE 2 END AS status, 0 AS perf,
    CAST(f.database_id AS smallint) AS dbid, f.name, f.physical_name AS filename
FROM sys.master_files AS f
