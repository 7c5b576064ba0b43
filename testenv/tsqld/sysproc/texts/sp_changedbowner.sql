CREATE PROCEDURE sys.sp_changedbowner @loginame sysname, @map varchar(5) = NULL
AS
-- Documentation: sp_changedbowner: equivalent to ALTER AUTHORIZATION.
DECLARE @text nvarchar(max) = N'ALTER AUTHORIZATION ON DATABASE::' + QUOTENAME(DB_NAME()) + N' TO ' + QUOTENAME(@loginame);
EXEC (@text);
RETURN @@ERROR;
