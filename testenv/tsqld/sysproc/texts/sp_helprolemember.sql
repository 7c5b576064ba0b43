CREATE PROCEDURE sys.sp_helprolemember @rolename sysname = NULL
AS
-- Documentation: sp_helprolemember.
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R')
BEGIN
    RAISERROR(15409, -1, -1, @rolename);
    RETURN 1;
END
SELECT r.name AS DbRole, u.name AS MemberName, u.sid AS MemberSID
FROM sys.database_principals AS r
JOIN sys.database_role_members AS m ON m.role_principal_id = r.principal_id
JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
WHERE r.name = @rolename OR @rolename IS NULL
ORDER BY 1, 2;
RETURN 0;
