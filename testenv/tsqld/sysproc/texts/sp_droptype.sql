CREATE PROCEDURE sys.sp_droptype @typename sysname
AS
-- Documentation: sp_droptype: deletes an alias data type; equivalent to DROP TYPE.
DECLARE @text nvarchar(max) = N'DROP TYPE ' + QUOTENAME(@typename);
EXEC (@text);
RETURN @@ERROR;
