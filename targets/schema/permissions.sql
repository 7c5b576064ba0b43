-- Roles, their members, and permissions on the database, on schemas, and on objects and their columns
-- (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-database-permissions-transact-sql). CONNECT of each user is left out:
-- CREATE USER grants it.
SELECT p.name FROM sys.database_principals AS p WHERE p.type = 'R' AND p.is_fixed_role = 0 AND p.name <> N'public';
SELECT r.name, m.name
FROM sys.database_role_members AS x
JOIN sys.database_principals AS r ON r.principal_id = x.role_principal_id
JOIN sys.database_principals AS m ON m.principal_id = x.member_principal_id
WHERE m.name <> N'dbo';
SELECT p.class, p.major_id, p.minor_id, p.permission_name, p.state_desc, g.name
FROM sys.database_permissions AS p
JOIN sys.database_principals AS g ON g.principal_id = p.grantee_principal_id
WHERE p.class IN (0, 1, 3) AND p.major_id >= 0 AND NOT (p.class = 0 AND p.type = 'CO');
