CREATE PROCEDURE sys.sp_helpdbfixedrole @rolename sysname = NULL
AS
-- Documentation: sp_helpdbfixedrole.
SELECT CAST(r.name AS sysname) AS DbFixedRole, CAST(r.description AS nvarchar(70)) AS Description
FROM (VALUES (N'db_owner', N'DB Owners'), (N'db_accessadmin', N'DB Access Administrators'), (N'db_securityadmin', N'DB Security Administrators'), (N'db_ddladmin', N'DB DDL Administrators'),
    (N'db_backupoperator', N'DB Backup Operator'), (N'db_datareader', N'DB Data Reader'), (N'db_datawriter', N'DB Data Writer'), (N'db_denydatareader', N'DB Deny Data Reader'),
    (N'db_denydatawriter', N'DB Deny Data Writer')) AS r(name, description)
WHERE r.name = @rolename OR @rolename IS NULL;
RETURN 0;
