CREATE PROCEDURE sys.sp_droprole @rolename sysname
AS
-- Documentation: sp_droprole, which stands for DROP ROLE.
DECLARE @text nvarchar(max) = N'DROP ROLE ' + QUOTENAME(@rolename);
EXEC (@text);
RETURN @@ERROR;
