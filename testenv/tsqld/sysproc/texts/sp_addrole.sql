CREATE PROCEDURE sys.sp_addrole @rolename sysname, @ownername sysname = NULL
AS
-- Documentation: sp_addrole: equivalent to CREATE ROLE.
DECLARE @text nvarchar(max) = N'CREATE ROLE ' + QUOTENAME(@rolename) + COALESCE(N' AUTHORIZATION ' + QUOTENAME(@ownername), N'');
EXEC (@text);
RETURN @@ERROR;
