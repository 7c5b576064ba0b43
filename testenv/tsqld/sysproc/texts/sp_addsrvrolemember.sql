CREATE PROCEDURE sys.sp_addsrvrolemember @loginame sysname, @rolename sysname
AS
-- Documentation: sp_addsrvrolemember: equivalent to ALTER SERVER ROLE.
DECLARE @text nvarchar(max) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' ADD MEMBER ' + QUOTENAME(@loginame);
EXEC (@text);
RETURN @@ERROR;
