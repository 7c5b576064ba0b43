CREATE VIEW sys.syslogins AS
SELECT p.sid, CAST(CASE p.is_disabled WHEN 1 THEN 1 ELSE 9 END AS smallint) AS status, p.create_date AS createdate, p.modify_date AS updatedate, p.create_date AS accdate, 0 AS totcpu, 0 AS totio,
    0 AS spacelimit, 0 AS timelimit, 0 AS resultlimit, p.name, p.default_database_name AS dbname, CAST(NULL AS sysname) AS password, p.default_language_name AS language, 0 AS denylogin,
    1 AS hasaccess, 0 AS isntname, 0 AS isntgroup, 0 AS isntuser,
    CASE WHEN r.sysadmin > 0 THEN 1 ELSE 0 END AS sysadmin, CASE WHEN r.securityadmin > 0 THEN 1 ELSE 0 END AS securityadmin, CASE WHEN r.serveradmin > 0 THEN 1 ELSE 0 END AS serveradmin,
    CASE WHEN r.setupadmin > 0 THEN 1 ELSE 0 END AS setupadmin, CASE WHEN r.processadmin > 0 THEN 1 ELSE 0 END AS processadmin, CASE WHEN r.diskadmin > 0 THEN 1 ELSE 0 END AS diskadmin,
    CASE WHEN r.dbcreator > 0 THEN 1 ELSE 0 END AS dbcreator, CASE WHEN r.bulkadmin > 0 THEN 1 ELSE 0 END AS bulkadmin, p.name AS loginname
FROM sys.server_principals AS p
LEFT JOIN (
    SELECT m.member_principal_id, SUM(CASE g.name WHEN 'sysadmin' THEN 1 ELSE 0 END) AS sysadmin, SUM(CASE g.name WHEN 'securityadmin' THEN 1 ELSE 0 END) AS securityadmin,
        SUM(CASE g.name WHEN 'serveradmin' THEN 1 ELSE 0 END) AS serveradmin, SUM(CASE g.name WHEN 'setupadmin' THEN 1 ELSE 0 END) AS setupadmin,
        SUM(CASE g.name WHEN 'processadmin' THEN 1 ELSE 0 END) AS processadmin, SUM(CASE g.name WHEN 'diskadmin' THEN 1 ELSE 0 END) AS diskadmin,
        SUM(CASE g.name WHEN 'dbcreator' THEN 1 ELSE 0 END) AS dbcreator, SUM(CASE g.name WHEN 'bulkadmin' THEN 1 ELSE 0 END) AS bulkadmin
    FROM sys.server_role_members AS m
    JOIN sys.server_principals AS g ON g.principal_id = m.role_principal_id
    GROUP BY m.member_principal_id
) AS r ON r.member_principal_id = p.principal_id
WHERE p.type = 'S'
