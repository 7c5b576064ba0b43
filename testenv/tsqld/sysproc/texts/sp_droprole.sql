CREATE PROCEDURE sys.sp_droprole @rolename sysname
AS
-- Documentation: sp_droprole: equivalent to DROP ROLE.
DECLARE @text nvarchar(max) = N'DROP ROLE ' + QUOTENAME(@rolename);
EXEC (@text);
RETURN @@ERROR;
