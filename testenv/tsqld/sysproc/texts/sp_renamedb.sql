CREATE PROCEDURE sys.sp_renamedb @dbname sysname, @newname sysname
AS
-- Documentation: sp_renamedb: equivalent to ALTER DATABASE ... MODIFY NAME.
DECLARE @text nvarchar(max) = N'ALTER DATABASE ' + QUOTENAME(@dbname) + N' MODIFY NAME = ' + QUOTENAME(@newname);
EXEC (@text);
RETURN @@ERROR;
