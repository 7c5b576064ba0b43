CREATE PROCEDURE sys.sp_helpstats @objname nvarchar(776), @results nvarchar(5) = N'STATS'
AS
-- Documentation: sp_helpstats. Statistics other than those of indexes are not kept.
SET NOCOUNT ON;
DECLARE @id int = OBJECT_ID(@objname), @database sysname = DB_NAME();
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @database);
    RETURN 1;
END
IF UPPER(@results) <> N'ALL' OR NOT EXISTS (SELECT * FROM sys.indexes WHERE object_id = @id AND index_id > 0)
BEGIN
    RAISERROR(15574, -1, -1);
    RETURN 0;
END
SELECT i.name AS statistics_name,
    CAST((SELECT STRING_AGG(CAST(c.name AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY x.key_ordinal)
        FROM sys.index_columns AS x
        JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
        WHERE x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0) AS nvarchar(2078)) AS statistics_keys
FROM sys.indexes AS i
WHERE i.object_id = @id AND i.index_id > 0
ORDER BY i.index_id;
RETURN 0;
