CREATE PROCEDURE sys.sp_autostats @tblname nvarchar(776), @flagc varchar(10) = NULL, @indname sysname = NULL
AS
-- Documentation: sp_autostats. Statistics are not kept, so a new setting has no effect.
SET NOCOUNT ON;
DECLARE @id int = OBJECT_ID(@tblname), @database sysname = DB_NAME();
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @tblname, @database);
    RETURN 1;
END
IF @flagc IS NULL
    SELECT QUOTENAME(name) AS [Index Name], CAST('ON ' AS varchar(3)) AS AUTOSTATS, CAST(NULL AS datetime) AS [Last Updated]
    FROM sys.indexes
    WHERE object_id = @id AND index_id > 0 AND (name = @indname OR @indname IS NULL)
    ORDER BY index_id;
RETURN 0;
