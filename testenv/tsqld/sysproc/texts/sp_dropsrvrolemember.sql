CREATE PROCEDURE sys.sp_dropsrvrolemember @loginame sysname, @rolename sysname
AS
-- Documentation: sp_dropsrvrolemember: equivalent to ALTER SERVER ROLE.
DECLARE @text nvarchar(max) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' DROP MEMBER ' + QUOTENAME(@loginame);
EXEC (@text);
RETURN @@ERROR;
