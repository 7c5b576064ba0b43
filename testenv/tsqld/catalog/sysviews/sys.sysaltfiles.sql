CREATE VIEW sys.sysaltfiles AS
-- Old installation scripts take the folder of new files from the row of master.mdf.
SELECT CAST(f.file_id AS smallint) AS fileid, CAST(f.data_space_id AS smallint) AS groupid, f.size, f.max_size AS maxsize, f.growth, CASE f.type WHEN 1 THEN 66 ELSE 2 END AS status, 0 AS perf,
    CAST(f.database_id AS smallint) AS dbid, f.name,
    CAST(CASE WHEN f.database_id = 1 AND f.type = 0
        THEN LEFT(f.physical_name, LEN(f.physical_name) - PATINDEX('%[/\]%', REVERSE(f.physical_name)) + 1) + N'master.mdf'
        ELSE f.physical_name END AS nvarchar(260)) AS filename
FROM sys.master_files AS f
