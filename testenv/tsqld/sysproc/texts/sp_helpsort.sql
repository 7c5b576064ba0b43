CREATE PROCEDURE sys.sp_helpsort
AS
-- Documentation: sp_helpsort. The description is that of sys.fn_helpcollations.
SELECT CAST(N'Latin1-General'
    + CASE WHEN c.name LIKE N'%[_]CS%' THEN N', case-sensitive' ELSE N', case-insensitive' END
    + CASE WHEN c.name LIKE N'%[_]AI%' THEN N', accent-insensitive' ELSE N', accent-sensitive' END
    + N', kanatype-insensitive, width-insensitive' + CASE WHEN c.name LIKE N'SQL[_]%' THEN N' for Unicode Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data' ELSE N'' END AS nvarchar(1000)) AS [Server default collation]
FROM (SELECT CAST(SERVERPROPERTY('Collation') AS nvarchar(128)) AS name) AS c;
