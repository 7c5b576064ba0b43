CREATE PROCEDURE sys.sp_helprole @rolename sysname = NULL
AS
-- Documentation: sp_helprole.
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type IN ('R', 'A'))
BEGIN
    RAISERROR(15409, -1, -1, @rolename);
    RETURN 1;
END
SELECT name AS RoleName, principal_id AS RoleId, CASE type WHEN 'A' THEN 1 ELSE 0 END AS IsAppRole
FROM sys.database_principals
WHERE type IN ('R', 'A') AND (name = @rolename OR @rolename IS NULL)
ORDER BY principal_id;
RETURN 0;
