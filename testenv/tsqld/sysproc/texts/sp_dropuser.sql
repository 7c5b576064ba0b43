CREATE PROCEDURE sys.sp_dropuser @name_in_db sysname
AS
-- Documentation: sp_dropuser: equivalent to DROP USER.
DECLARE @text nvarchar(max) = N'DROP USER ' + QUOTENAME(@name_in_db);
EXEC (@text);
RETURN @@ERROR;
