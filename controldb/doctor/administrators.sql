-- The members of the fixed roles that have an administrator's rights in the database, directly or through other roles, and of the roles of jobagent.
WITH held AS (
    SELECT m.member_principal_id, m.role_principal_id
    FROM sys.database_role_members AS m
    UNION ALL
    SELECT m.member_principal_id, h.role_principal_id
    FROM held AS h
    INNER JOIN sys.database_role_members AS m ON m.role_principal_id = h.member_principal_id
)
SELECT DISTINCT u.name AS user_name, r.name AS role_name
FROM held AS h
INNER JOIN sys.database_principals AS u ON u.principal_id = h.member_principal_id
INNER JOIN sys.database_principals AS r ON r.principal_id = h.role_principal_id
WHERE u.type <> 'R'
    AND u.name <> N'dbo'
    AND (r.name IN (N'db_owner', N'db_ddladmin', N'db_securityadmin') OR r.name LIKE N'jobs[_]%')
ORDER BY 1, 2;
