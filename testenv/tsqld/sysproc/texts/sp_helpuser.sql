CREATE PROCEDURE sys.sp_helpuser @name_in_db sysname = NULL
AS
-- Documentation: sp_helpuser. For a role it returns the members.
IF EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db AND type = 'R')
BEGIN
    SELECT CAST(r.name AS sysname) AS Role_name, r.principal_id AS Role_id, CAST(u.name AS sysname) AS Users_in_role, u.principal_id AS Userid
    FROM sys.database_principals AS r
    JOIN sys.database_role_members AS m ON m.role_principal_id = r.principal_id
    JOIN sys.database_principals AS u ON u.principal_id = m.member_principal_id
    WHERE r.name = @name_in_db
    ORDER BY 3;
    RETURN 0;
END
IF @name_in_db IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db)
BEGIN
    RAISERROR(15198, -1, -1, @name_in_db);
    RETURN 1;
END
SELECT u.name AS UserName, COALESCE(r.name, N'public') AS RoleName, l.name AS LoginName, CAST(l.default_database_name AS sysname) AS DefDBName, u.default_schema_name AS DefSchemaName,
    u.principal_id AS UserID, u.sid AS SID
FROM sys.database_principals AS u
LEFT JOIN sys.database_role_members AS m ON m.member_principal_id = u.principal_id
LEFT JOIN sys.database_principals AS r ON r.principal_id = m.role_principal_id
LEFT JOIN sys.server_principals AS l ON l.sid = u.sid
WHERE u.type <> 'R' AND (u.name = @name_in_db OR @name_in_db IS NULL)
ORDER BY 1, 2;
RETURN 0;
