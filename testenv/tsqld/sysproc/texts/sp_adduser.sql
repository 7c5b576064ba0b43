CREATE PROCEDURE sys.sp_adduser @loginame sysname, @name_in_db sysname = NULL, @grpname sysname = NULL
AS
-- Documentation: sp_adduser: equivalent to CREATE USER and ALTER ROLE.
DECLARE @text nvarchar(max) = N'CREATE USER ' + QUOTENAME(COALESCE(@name_in_db, @loginame)) + N' FOR LOGIN ' + QUOTENAME(@loginame)
    + COALESCE(N'; ALTER ROLE ' + QUOTENAME(@grpname) + N' ADD MEMBER ' + QUOTENAME(COALESCE(@name_in_db, @loginame)), N'');
EXEC (@text);
RETURN @@ERROR;
