-- Deletes results of the kit that are older than keep_days, 5000 rows in each transaction, and of no table but the kit's own.
SET NOCOUNT ON;
SET LOCK_TIMEOUT 60000; -- ms
IF $(param.keep_days) < 1
    THROW 50000, N'keep_days must be at least 1.', 1;

DECLARE @before DATETIME2(7) = DATEADD(DAY, -$(param.keep_days), SYSUTCDATETIME());
DECLARE @tables TABLE (id INT NOT NULL IDENTITY PRIMARY KEY, name NVARCHAR(128) NOT NULL);
INSERT @tables (name)
SELECT t.name
FROM sys.tables AS t
JOIN
(
    VALUES (N'kit_backup'), (N'kit_blocking'), (N'kit_database_settings'), (N'kit_file_growth'), (N'kit_index_maintenance'),
        (N'kit_integrity_check'), (N'kit_missing_indexes'), (N'kit_orphaned_users'), (N'kit_server_settings'), (N'kit_statistics'),
        (N'kit_unused_indexes')
) AS k (name) ON k.name = t.name COLLATE DATABASE_DEFAULT -- in Azure, the catalog has a collation of its own
WHERE t.schema_id = SCHEMA_ID(N'dbo')
ORDER BY t.name;

DECLARE @id INT = 1, @name NVARCHAR(128), @command NVARCHAR(400), @rows INT, @deleted INT;
WHILE EXISTS (SELECT 1 FROM @tables WHERE id = @id)
BEGIN
    SELECT @name = name, @rows = 1, @deleted = 0 FROM @tables WHERE id = @id;
    SET @command = N'DELETE TOP (5000) FROM dbo.' + QUOTENAME(@name) + N' WHERE collected_at < @before; SET @rows = @@ROWCOUNT;';
    WHILE @rows > 0 -- NULL after an error, which fails the run
    BEGIN
        SET @rows = NULL;
        EXECUTE sys.sp_executesql @command, N'@before DATETIME2(7), @rows INT OUTPUT', @before = @before, @rows = @rows OUTPUT;
        SET @deleted += ISNULL(@rows, 0);
    END;
    RAISERROR (N'%s: %d rows deleted', 0, 1, @name, @deleted) WITH NOWAIT;
    SET @id += 1;
END;
