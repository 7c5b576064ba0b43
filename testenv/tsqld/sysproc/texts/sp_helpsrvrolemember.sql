CREATE PROCEDURE sys.sp_helpsrvrolemember @srvrolename sysname = NULL
AS
-- Documentation: sp_helpsrvrolemember.
IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @srvrolename AND type = 'R')
BEGIN
    RAISERROR(15409, -1, -1, @srvrolename);
    RETURN 1;
END
SELECT r.name AS ServerRole, l.name AS MemberName, l.sid AS MemberSID
FROM sys.server_principals AS r
JOIN sys.server_role_members AS m ON m.role_principal_id = r.principal_id
JOIN sys.server_principals AS l ON l.principal_id = m.member_principal_id
WHERE r.name = @srvrolename OR @srvrolename IS NULL
ORDER BY 1, 2;
RETURN 0;
