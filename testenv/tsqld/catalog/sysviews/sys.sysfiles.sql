CREATE VIEW sys.sysfiles AS
SELECT CAST(f.file_id AS smallint) AS fileid, CAST(f.data_space_id AS smallint) AS groupid, f.size, f.max_size AS maxsize, f.growth, CASE f.type WHEN 1 THEN 66 ELSE 2 END AS status, 0 AS perf,
    f.name, f.physical_name AS filename
FROM sys.database_files AS f
