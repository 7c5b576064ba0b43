CREATE PROCEDURE sys.sp_defaultdb @loginame sysname, @defdb sysname
AS
-- Documentation: sp_defaultdb: equivalent to ALTER LOGIN.
DECLARE @text nvarchar(max) = N'ALTER LOGIN ' + QUOTENAME(@loginame) + N' WITH DEFAULT_DATABASE = ' + QUOTENAME(@defdb);
EXEC (@text);
RETURN @@ERROR;
