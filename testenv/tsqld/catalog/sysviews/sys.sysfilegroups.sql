CREATE VIEW sys.sysfilegroups AS
SELECT CAST(f.data_space_id AS smallint) AS groupid, CAST(0 AS smallint) AS allocpolicy, CASE f.is_default WHEN 1 THEN 16 ELSE 0 END AS status, f.name AS groupname
FROM sys.filegroups AS f
