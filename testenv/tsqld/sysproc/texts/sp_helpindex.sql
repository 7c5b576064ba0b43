CREATE PROCEDURE sys.sp_helpindex @objname nvarchar(776)
AS
-- Documentation: sp_helpindex.
SET NOCOUNT ON;
IF PARSENAME(@objname, 3) <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME();
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @database);
    RETURN 1;
END
IF NOT EXISTS (SELECT * FROM sys.indexes WHERE object_id = @id AND index_id > 0)
BEGIN
    RAISERROR(15472, -1, -1, @objname);
    RETURN 0;
END
SELECT i.name AS index_name,
    CAST(CASE i.type WHEN 1 THEN 'clustered' ELSE 'nonclustered' END + CASE i.ignore_dup_key WHEN 1 THEN ', ignore duplicate keys' ELSE '' END
        + CASE i.is_unique WHEN 1 THEN ', unique' ELSE '' END + CASE i.is_hypothetical WHEN 1 THEN ', hypothetical' ELSE '' END
        + CASE WHEN i.is_primary_key = 1 THEN ', primary key' WHEN i.is_unique_constraint = 1 THEN ', unique key' ELSE '' END + ' located on PRIMARY' AS varchar(210)) AS index_description,
    CAST((SELECT STRING_AGG(CAST(c.name + CASE x.is_descending_key WHEN 1 THEN N'(-)' ELSE N'' END AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY x.key_ordinal)
        FROM sys.index_columns AS x
        JOIN sys.all_columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
        WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0) AS nvarchar(2078)) AS index_keys
FROM sys.indexes AS i
WHERE i.object_id = @id AND i.index_id > 0
ORDER BY i.name;
RETURN 0;
