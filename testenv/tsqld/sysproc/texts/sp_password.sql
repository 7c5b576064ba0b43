CREATE PROCEDURE sys.sp_password @old sysname = NULL, @new sysname, @loginame sysname = NULL
AS
-- Documentation: sp_password: equivalent to ALTER LOGIN.
DECLARE @text nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(COALESCE(@loginame, SUSER_SNAME())) + N' WITH PASSWORD = N''' + REPLACE(@new, N'''', N'''''') + N'''' + COALESCE(N' OLD_PASSWORD = N''' + REPLACE(@old, N'''', N'''''') + N'''', N'');
EXEC (@text);
RETURN @@ERROR;
