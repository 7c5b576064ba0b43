-- Updates the statistics of this database whose rows have changed, those with the greatest part of changes first.
-- Due are statistics with as many changes as modified_percent says, or as many as the optimizer's own rule for large tables,
-- the root of 1000 times the rows, whichever is less; those older than max_days with any change; and those that have never been
-- built although the table has rows. Left alone: NORECOMPUTE, external tables, columnstore indexes.
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-db-stats-properties-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/statistics/statistics
SET NOCOUNT ON;
SET LOCK_TIMEOUT $(param.lock_timeout_ms);
SET DEADLOCK_PRIORITY LOW;

DECLARE @modified_percent FLOAT = $(param.modified_percent);
DECLARE @max_days INT = $(param.max_days);
DECLARE @sample_percent INT = $(param.sample_percent); -- NULL: SQL Server's own sample, or the one that the statistics keep
DECLARE @max_minutes INT = $(param.max_minutes);
DECLARE @dry_run BIT = $(param.dry_run);

IF DB_NAME() IN (N'master', N'model', N'msdb', N'tempdb')
    THROW 50000, N'The kit maintains no system databases.', 1;
IF @sample_percent NOT BETWEEN 1 AND 100
    THROW 50000, N'sample_percent must be between 1 and 100.', 1;

DECLARE @end DATETIME2(3) = DATEADD(MINUTE, @max_minutes, SYSUTCDATETIME());
CREATE TABLE #kit_work
(
    id              INT            NOT NULL PRIMARY KEY,
    schema_name     NVARCHAR(128)  NOT NULL,
    table_name      NVARCHAR(128)  NOT NULL,
    statistics_name NVARCHAR(128)  NOT NULL,
    table_rows      BIGINT         NOT NULL,
    modifications   BIGINT         NULL,
    last_updated    DATETIME2(3)   NULL,
    command         NVARCHAR(2000) NOT NULL,
    seconds         INT            NULL,
    outcome         NVARCHAR(2000) NULL
);

-- An sql_variant equals no text of another collation.
IF CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS NVARCHAR(128)) = N'READ_WRITE'
    INSERT #kit_work (id, schema_name, table_name, statistics_name, table_rows, modifications, last_updated, command)
    SELECT ROW_NUMBER() OVER
        (
            ORDER BY ISNULL(p.modification_counter, n.table_rows) * 1E0 / NULLIF(n.table_rows, 0) DESC, st.object_id, st.stats_id
        ),
        s.name, o.name, st.name, n.table_rows, p.modification_counter, p.last_updated,
        N'UPDATE STATISTICS ' + QUOTENAME(s.name) + N'.' + QUOTENAME(o.name) + N' ' + QUOTENAME(st.name)
        + ISNULL(N' WITH SAMPLE ' + CAST(@sample_percent AS NVARCHAR(10)) + N' PERCENT', N'') + N';'
    FROM sys.stats AS st
    JOIN sys.objects AS o ON o.object_id = st.object_id
    JOIN sys.schemas AS s ON s.schema_id = o.schema_id
    LEFT JOIN sys.tables AS t ON t.object_id = o.object_id
    CROSS APPLY sys.dm_db_stats_properties(st.object_id, st.stats_id) AS p
    CROSS APPLY (SELECT SUM(x.rows) AS table_rows FROM sys.partitions AS x WHERE x.object_id = st.object_id AND x.index_id IN (0, 1)) AS n
    WHERE o.is_ms_shipped = 0 AND o.type IN ('U', 'V') AND ISNULL(t.is_external, 0) = 0 AND st.no_recompute = 0 AND n.table_rows > 0
        AND NOT EXISTS (SELECT 1 FROM sys.indexes AS i WHERE i.object_id = st.object_id AND i.index_id = st.stats_id AND i.type IN (5, 6))
        AND
        (
            p.last_updated IS NULL AND st.has_filter = 0
            OR p.modification_counter > 0
                AND (p.modification_counter >= n.table_rows * @modified_percent / 100 OR p.modification_counter >= SQRT(1E3 * n.table_rows)
                    OR p.last_updated < DATEADD(DAY, -@max_days, SYSDATETIME()))
        );

IF @dry_run = 1
    UPDATE #kit_work SET outcome = N'dry run';

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

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name, w.schema_name, w.table_name,
    w.statistics_name, w.table_rows, w.modifications, w.last_updated, w.command, w.seconds, w.outcome
FROM #kit_work AS w
ORDER BY w.id;
GO
-- In a batch of its own: an error beside a result set would leave the result in doubt, and it would not be kept.
DECLARE @failed INT = (SELECT COUNT(*) FROM #kit_work WHERE outcome LIKE N'failed:%'), @message NVARCHAR(200);
IF @failed > 0
BEGIN
    SET @message = CONCAT(N'Statistics that could not be updated: ', @failed, N'. The result has the reasons.');
    THROW 50000, @message, 1;
END;
