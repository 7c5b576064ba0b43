CREATE PROCEDURE sys.sp_helplogins @LoginNamePattern sysname = NULL
AS
-- Documentation: sp_helplogins. The second result set has the users in all databases that the caller may use.
SET NOCOUNT ON;
IF @LoginNamePattern IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @LoginNamePattern AND type = 'S')
BEGIN
    RAISERROR(15007, -1, -1, @LoginNamePattern);
    RETURN 1;
END
DECLARE @users TABLE (LoginName sysname, DBName sysname, UserName sysname, UserOrAlias char(8));
DECLARE @databases TABLE (id int PRIMARY KEY, name sysname);
DECLARE @id int = 0, @text nvarchar(max);
INSERT @databases SELECT database_id, name FROM sys.databases WHERE state = 0 AND HAS_DBACCESS(name) = 1;
WHILE 1 = 1
BEGIN
    SELECT @id = MIN(id) FROM @databases WHERE id > @id;
    IF @id IS NULL
        BREAK;
    SELECT @text = N'SELECT l.name, N' + QUOTENAME(name, '''') + N', u.name, ''User'' FROM ' + QUOTENAME(name) + N'.sys.database_principals AS u JOIN sys.server_principals AS l ON l.sid = u.sid WHERE u.type = ''S''
UNION ALL SELECT l.name, N' + QUOTENAME(name, '''') + N', r.name, ''MemberOf'' FROM ' + QUOTENAME(name) + N'.sys.database_principals AS u JOIN sys.server_principals AS l ON l.sid = u.sid
JOIN ' + QUOTENAME(name) + N'.sys.database_role_members AS m ON m.member_principal_id = u.principal_id JOIN ' + QUOTENAME(name) + N'.sys.database_principals AS r ON r.principal_id = m.role_principal_id'
    FROM @databases
    WHERE id = @id;
    INSERT @users EXEC (@text);
END
SELECT l.name AS LoginName, CAST(l.sid AS varbinary(85)) AS SID, CAST(l.default_database_name AS sysname) AS DefDBName, CAST(l.default_language_name AS sysname) AS DefLangName,
    CAST(CASE WHEN EXISTS (SELECT * FROM @users AS u WHERE u.LoginName = l.name AND u.UserOrAlias = 'User') THEN 'yes' ELSE 'NO' END AS char(5)) AS AUser, CAST('no' AS char(7)) AS ARemote
FROM sys.server_principals AS l
WHERE l.type = 'S' AND (l.name = @LoginNamePattern OR @LoginNamePattern IS NULL)
ORDER BY l.name;
SELECT LoginName, DBName, UserName, UserOrAlias FROM @users WHERE LoginName = @LoginNamePattern OR @LoginNamePattern IS NULL ORDER BY 1, 2, 4 DESC, 3;
RETURN 0;
