CREATE PROCEDURE sys.sp_spaceused @objname nvarchar(776) = NULL, @updateusage varchar(5) = 'false', @mode varchar(11) = 'ALL', @oneresultset bit = 0, @include_total_xtp_storage bit = 0
AS
-- Documentation: sp_spaceused. The numbers are always current, regardless of @updateusage. Tables have no reserved space.
SET NOCOUNT ON;
DECLARE @id int, @database sysname = DB_NAME(), @data bigint, @index bigint, @size bigint, @log bigint;
IF @objname IS NOT NULL
BEGIN
    IF PARSENAME(@objname, 3) <> DB_NAME()
    BEGIN
        RAISERROR(15250, -1, -1);
        RETURN 1;
    END
    SET @id = OBJECT_ID(@objname);
    IF @id IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @database);
        RETURN 1;
    END
    IF NOT EXISTS (SELECT * FROM sys.objects WHERE object_id = @id AND type IN ('U', 'S', 'V', 'SQ', 'IT'))
    BEGIN
        RAISERROR(15234, -1, -1);
        RETURN 1;
    END
END
SELECT @data = COALESCE(SUM(data_pages), 0), @index = COALESCE(SUM(index_pages), 0)
FROM sys.spt_space_used
WHERE object_id = @id OR @id IS NULL;
IF @id IS NOT NULL
BEGIN
    SELECT CAST(OBJECT_NAME(@id) AS nvarchar(128)) AS name, CAST((SELECT COALESCE(SUM(rows), 0) FROM sys.partitions WHERE object_id = @id AND index_id < 2) AS char(20)) AS rows,
        CAST(CAST((@data + @index) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS reserved, CAST(CAST(@data * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS data,
        CAST(CAST(@index * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS index_size, CAST('0 KB' AS varchar(18)) AS unused;
    RETURN 0;
END
SELECT @size = COALESCE(SUM(CASE type WHEN 0 THEN CAST(size AS bigint) END), 0), @log = COALESCE(SUM(CASE type WHEN 1 THEN CAST(size AS bigint) END), 0) FROM sys.database_files;
IF @oneresultset = 1
    SELECT @database AS database_name, CAST(LTRIM(STR((@size + @log) * 8 / 1024.0, 15, 2)) + ' MB' AS varchar(18)) AS database_size,
        CAST(LTRIM(STR(CASE WHEN @size > @data + @index THEN @size - @data - @index ELSE 0 END * 8 / 1024.0, 15, 2)) + ' MB' AS varchar(18)) AS [unallocated space],
        CAST(CAST((@data + @index) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS reserved, CAST(CAST(@data * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS data,
        CAST(CAST(@index * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS index_size, CAST('0 KB' AS varchar(18)) AS unused;
ELSE
BEGIN
    SELECT @database AS database_name, CAST(LTRIM(STR((@size + @log) * 8 / 1024.0, 15, 2)) + ' MB' AS varchar(18)) AS database_size,
        CAST(LTRIM(STR(CASE WHEN @size > @data + @index THEN @size - @data - @index ELSE 0 END * 8 / 1024.0, 15, 2)) + ' MB' AS varchar(18)) AS [unallocated space];
    SELECT CAST(CAST((@data + @index) * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS reserved, CAST(CAST(@data * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS data,
        CAST(CAST(@index * 8 AS varchar(15)) + ' KB' AS varchar(18)) AS index_size, CAST('0 KB' AS varchar(18)) AS unused;
END
RETURN 0;
