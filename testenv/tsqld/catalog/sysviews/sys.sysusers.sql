CREATE VIEW sys.sysusers AS
SELECT CAST(principal_id AS smallint) AS uid, CAST(0 AS smallint) AS status, name, sid, CAST(NULL AS varbinary(2048)) AS roles, create_date AS createdate, modify_date AS updatedate,
    CAST(0 AS smallint) AS altuid, CAST(NULL AS varbinary(256)) AS password, CAST(0 AS smallint) AS gid, CAST(NULL AS varchar(85)) AS environ,
    CASE WHEN type = 'S' THEN 1 ELSE 0 END AS hasdbaccess, CASE WHEN type = 'R' THEN 0 ELSE 1 END AS islogin, 0 AS isntname, 0 AS isntgroup, 0 AS isntuser,
    CASE WHEN type = 'S' THEN 1 ELSE 0 END AS issqluser, 0 AS isaliased, CASE WHEN type = 'R' THEN 1 ELSE 0 END AS issqlrole, 0 AS isapprole
FROM sys.database_principals
