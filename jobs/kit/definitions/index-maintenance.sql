-- Reorganizes or rebuilds the indexes of this database that are large and fragmented, the largest first.
-- A rebuild is online, and gives up after a minute behind other sessions' locks. It is offline only with allow_offline.
-- Where neither is possible, an index is reorganized, which is online always. Columnstore, XML and spatial indexes, heaps
-- and disabled indexes are left alone. A partition of an index is looked at for itself.
-- https://learn.microsoft.com/sql/t-sql/statements/alter-index-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/indexes/guidelines-for-online-index-operations
SET NOCOUNT ON;
SET LOCK_TIMEOUT $(param.lock_timeout_ms); -- others wait behind a lock that waits
SET DEADLOCK_PRIORITY LOW;

DECLARE @reorganize_from FLOAT = $(param.reorganize_from); -- percent
DECLARE @rebuild_from FLOAT = $(param.rebuild_from);       -- percent
DECLARE @min_pages BIGINT = $(param.min_pages);            -- of 8 KB
DECLARE @max_minutes INT = $(param.max_minutes);
DECLARE @allow_offline BIT = $(param.allow_offline);
DECLARE @dry_run BIT = $(param.dry_run);

IF DB_NAME() IN (N'master', N'model', N'msdb', N'tempdb')
    THROW 50000, N'The kit maintains no system databases.', 1;

-- Enterprise and Developer, Azure SQL Database, Managed Instance.
DECLARE @online BIT = CASE WHEN CAST(SERVERPROPERTY(N'EngineEdition') AS INT) IN (3, 5, 8) THEN 1 ELSE 0 END;
DECLARE @end DATETIME2(3) = DATEADD(MINUTE, @max_minutes, SYSUTCDATETIME());
CREATE TABLE #kit_work
(
    id               INT            NOT NULL PRIMARY KEY,
    schema_name      NVARCHAR(128)  NOT NULL,
    table_name       NVARCHAR(128)  NOT NULL,
    index_name       NVARCHAR(128)  NOT NULL,
    partition_number INT            NOT NULL,
    pages            BIGINT         NOT NULL,
    fragmentation    DECIMAL(5, 2)  NOT NULL,
    command          NVARCHAR(2000) NULL,
    seconds          INT            NULL,
    outcome          NVARCHAR(2000) NULL
);

-- An sql_variant equals no text of another collation.
IF CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS NVARCHAR(128)) = N'READ_WRITE'
    INSERT #kit_work (id, schema_name, table_name, index_name, partition_number, pages, fragmentation, command)
    SELECT ROW_NUMBER() OVER (ORDER BY p.page_count * p.avg_fragmentation_in_percent DESC, i.object_id, i.index_id, p.partition_number),
        s.name, o.name, i.name, p.partition_number, p.page_count, p.avg_fragmentation_in_percent,
        N'ALTER INDEX ' + QUOTENAME(i.name) + N' ON ' + QUOTENAME(s.name) + N'.' + QUOTENAME(o.name)
        + CASE
            WHEN p.avg_fragmentation_in_percent >= @rebuild_from AND can.rebuild_online = 1
                THEN N' REBUILD' + part.clause
                    + N' WITH (ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF)))'
            WHEN p.avg_fragmentation_in_percent >= @rebuild_from AND @allow_offline = 1
                THEN N' REBUILD' + part.clause + N' WITH (ONLINE = OFF)'
            WHEN i.allow_page_locks = 1
                THEN N' REORGANIZE' + part.clause
        END + N';'
    FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, N'LIMITED') AS p
    JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id
    JOIN sys.objects AS o ON o.object_id = i.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    CROSS APPLY
    (
        -- A clustered index of a table with these types is rebuilt offline only.
        SELECT CASE WHEN @online = 0 OR i.type = 1 AND EXISTS
        (
            SELECT 1 FROM sys.columns AS c WHERE c.object_id = i.object_id AND TYPE_NAME(c.system_type_id) IN (N'image', N'ntext', N'text')
        ) THEN 0 ELSE 1 END AS rebuild_online
    ) AS can
    CROSS APPLY
    (
        SELECT CASE WHEN COUNT(*) > 1 THEN N' PARTITION = ' + CAST(p.partition_number AS NVARCHAR(10)) ELSE N'' END AS clause
        FROM sys.partitions AS x WHERE x.object_id = i.object_id AND x.index_id = i.index_id
    ) AS part
    WHERE p.alloc_unit_type_desc = N'IN_ROW_DATA' AND p.index_level = 0
        AND p.page_count >= @min_pages AND p.avg_fragmentation_in_percent >= @reorganize_from
        AND i.type IN (1, 2) AND i.is_disabled = 0 AND i.is_hypothetical = 0 AND o.is_ms_shipped = 0 AND o.type IN ('U', 'V');

UPDATE #kit_work SET outcome = N'skipped: its page locks are off, so that it can only be rebuilt' WHERE command IS NULL;
IF @dry_run = 1
    UPDATE #kit_work SET outcome = N'dry run' WHERE outcome IS NULL;

DECLARE @id INT, @command NVARCHAR(2000), @started DATETIME2(3);
WHILE EXISTS (SELECT 1 FROM #kit_work WHERE outcome IS NULL)
BEGIN
    IF SYSUTCDATETIME() >= @end
        UPDATE #kit_work SET outcome = N'no time left' WHERE outcome IS NULL;
    ELSE
    BEGIN
        SELECT TOP (1) @id = id, @command = command FROM #kit_work WHERE outcome IS NULL ORDER BY id;
        RAISERROR (N'%s', 0, 1, @command) WITH NOWAIT;
        SET @started = SYSUTCDATETIME();
        BEGIN TRY
            EXECUTE sys.sp_executesql @command;
            UPDATE #kit_work SET outcome = N'done' WHERE id = @id;
        END TRY
        BEGIN CATCH
            UPDATE #kit_work SET outcome = LEFT(N'failed: ' + ERROR_MESSAGE(), 2000) WHERE id = @id;
        END CATCH;
        UPDATE #kit_work SET seconds = DATEDIFF(SECOND, @started, SYSUTCDATETIME()) WHERE id = @id;
    END;
END;

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name, w.schema_name, w.table_name, w.index_name,
    w.partition_number, w.pages, w.fragmentation, w.command, w.seconds, w.outcome
FROM #kit_work AS w
ORDER BY w.id;
GO
-- In a batch of its own: an error beside a result set would leave the result in doubt, and it would not be kept.
DECLARE @failed INT = (SELECT COUNT(*) FROM #kit_work WHERE outcome LIKE N'failed:%'), @message NVARCHAR(200);
IF @failed > 0
BEGIN
    SET @message = CONCAT(N'Indexes that could not be maintained: ', @failed, N'. The result has the reasons.');
    THROW 50000, @message, 1;
END;
