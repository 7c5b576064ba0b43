CREATE PROCEDURE sys.sp_grantdbaccess @loginame sysname, @name_in_db sysname = NULL
AS
-- Documentation: sp_grantdbaccess: equivalent to CREATE USER.
DECLARE @text nvarchar(max) = N'CREATE USER ' + QUOTENAME(COALESCE(@name_in_db, @loginame)) + N' FOR LOGIN ' + QUOTENAME(@loginame);
EXEC (@text);
RETURN @@ERROR;
