-- Reports users of this database whose login does not exist on the server. The command is for the reader; nothing is changed.
-- A database of Azure SQL Database does not show logins (sys.server_principals), so nothing is reported there.
-- https://learn.microsoft.com/sql/sql-server/failover-clusters/troubleshoot-orphaned-users-sql-server
SET NOCOUNT ON;
CREATE TABLE #kit_users
(
    name      NVARCHAR(128) NOT NULL,
    type_desc NVARCHAR(60)  NULL,
    created   DATETIME      NOT NULL,
    login     NVARCHAR(128) NULL
);

IF CAST(SERVERPROPERTY(N'EngineEdition') AS INT) = 5
    PRINT N'A database of Azure SQL Database does not show the logins of its server. Nothing is reported.';
ELSE IF ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW ANY DEFINITION'), 0) = 0
    THROW 50000, N'Without VIEW ANY DEFINITION on the server, logins are not visible, and each user would look orphaned.', 1;
ELSE
    INSERT #kit_users (name, type_desc, created, login)
    EXECUTE sys.sp_executesql N'SELECT u.name, u.type_desc, u.create_date, n.name
FROM sys.database_principals AS u
LEFT JOIN sys.server_principals AS l ON l.sid = u.sid
LEFT JOIN sys.server_principals AS n ON n.name = u.name COLLATE DATABASE_DEFAULT AND n.type = N''S''
WHERE l.sid IS NULL AND u.type = N''S'' AND u.authentication_type_desc = N''INSTANCE''
    AND u.name NOT IN (N''guest'', N''INFORMATION_SCHEMA'', N''sys'');';

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name, u.name AS user_name, u.type_desc,
    u.created, u.login AS login_of_this_name,
    N'ALTER USER ' + QUOTENAME(u.name) + N' WITH LOGIN = ' + QUOTENAME(u.login) + N';' AS command -- NULL without such a login
FROM #kit_users AS u
ORDER BY u.name;
GO
-- In a batch of its own: an error beside a result set would leave the result in doubt, and it would not be kept.
IF $(param.fail_if_found) = 1 AND EXISTS (SELECT 1 FROM #kit_users)
    THROW 50000, N'There are users without a login. The result has them.', 1;
