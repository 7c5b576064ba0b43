CREATE PROCEDURE sys.sp_addlogin @loginame sysname, @passwd sysname = NULL, @defdb sysname = N'master', @deflanguage sysname = NULL, @sid varbinary(16) = NULL, @encryptopt varchar(20) = NULL
AS
-- Documentation: sp_addlogin: equivalent to CREATE LOGIN.
DECLARE @text nvarchar(max) = N'CREATE LOGIN ' + QUOTENAME(@loginame) + N' WITH PASSWORD = N''' + REPLACE(COALESCE(@passwd, N''), N'''', N'''''') + N''', DEFAULT_DATABASE = ' + QUOTENAME(@defdb)
    + COALESCE(N', DEFAULT_LANGUAGE = ' + QUOTENAME(@deflanguage), N'') + COALESCE(N', SID = ' + CONVERT(nvarchar(40), @sid, 1), N'') + N', CHECK_POLICY = OFF';
EXEC (@text);
RETURN @@ERROR;
