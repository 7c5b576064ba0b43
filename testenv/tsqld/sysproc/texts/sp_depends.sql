CREATE PROCEDURE sys.sp_depends @objname nvarchar(776)
AS
-- Documentation: sp_depends. The names of columns are not shown.
SET NOCOUNT ON;
DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME(), @found bit = 0;
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @database);
    RETURN 1;
END
IF EXISTS (SELECT * FROM sys.sql_expression_dependencies WHERE referencing_id = @id AND referenced_id IS NOT NULL)
BEGIN
    SET @found = 1;
    RAISERROR(15459, -1, -1);
    SELECT DISTINCT CAST(SCHEMA_NAME(o.schema_id) + N'.' + o.name AS nvarchar(257)) AS name, CAST(LOWER(REPLACE(o.type_desc, N'_', N' ')) AS nvarchar(60)) AS type
    FROM sys.sql_expression_dependencies AS d
    JOIN sys.objects AS o ON o.object_id = d.referenced_id
    WHERE d.referencing_id = @id
    ORDER BY name;
END
IF EXISTS (SELECT * FROM sys.sql_expression_dependencies WHERE referenced_id = @id)
BEGIN
    SET @found = 1;
    RAISERROR(15460, -1, -1);
    SELECT DISTINCT CAST(SCHEMA_NAME(o.schema_id) + N'.' + o.name AS nvarchar(257)) AS name, CAST(LOWER(REPLACE(o.type_desc, N'_', N' ')) AS nvarchar(60)) AS type
    FROM sys.sql_expression_dependencies AS d
    JOIN sys.objects AS o ON o.object_id = d.referencing_id
    WHERE d.referenced_id = @id
    ORDER BY name;
END
IF @found = 0
    RAISERROR(15461, -1, -1);
RETURN 0;
