CREATE VIEW sys.sysdatabases AS
SELECT name, CAST(database_id AS smallint) AS dbid, owner_sid AS sid, CAST(0 AS smallint) AS mode, 0 AS status, 0 AS status2, create_date AS crdate,
    CAST('1900-01-01' AS datetime) AS reserved, 0 AS category, compatibility_level AS cmptlevel, CAST(NULL AS nvarchar(260)) AS filename, CAST(NULL AS smallint) AS version
FROM sys.databases
