CREATE PROCEDURE sys.sp_droplogin @loginame sysname
AS
-- Documentation: sp_droplogin: equivalent to DROP LOGIN.
DECLARE @text nvarchar(max) = N'DROP LOGIN ' + QUOTENAME(@loginame);
EXEC (@text);
RETURN @@ERROR;
