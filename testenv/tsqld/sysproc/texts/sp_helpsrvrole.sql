CREATE PROCEDURE sys.sp_helpsrvrole @srvrolename sysname = NULL
AS
-- Documentation: sp_helpsrvrole. The descriptions are those of the documentation.
IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @srvrolename AND type = 'R')
BEGIN
    RAISERROR(15409, -1, -1, @srvrolename);
    RETURN 1;
END
SELECT p.name AS ServerRole, CAST(v.description AS sysname) AS Description
FROM sys.server_principals AS p
JOIN (VALUES (N'sysadmin', N'System Administrators'), (N'securityadmin', N'Security Administrators'), (N'serveradmin', N'Server Administrators'), (N'setupadmin', N'Setup Administrators'),
    (N'processadmin', N'Process Administrators'), (N'diskadmin', N'Disk Administrators'), (N'dbcreator', N'Database Creators'), (N'bulkadmin', N'Bulk Insert Administrators')) AS v (name, description) ON v.name = p.name
WHERE p.type = 'R' AND (p.name = @srvrolename OR @srvrolename IS NULL)
ORDER BY p.principal_id;
RETURN 0;
