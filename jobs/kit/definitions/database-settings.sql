-- Compares the settings of this database with a baseline, and returns those that differ. In the mode correct, it changes them, but not
-- the recovery model and the compatibility level, which need a decision. An empty parameter means: not compared.
-- https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options
-- https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-databases-transact-sql
SET NOCOUNT ON;
SET LOCK_TIMEOUT 30000; -- ms
DECLARE @apply BIT = CASE WHEN N'$(param.mode)' = N'correct' THEN 1 ELSE 0 END;

IF @apply = 1 AND DB_NAME() IN (N'master', N'model', N'msdb', N'tempdb')
    THROW 50000, N'The kit changes no system databases.', 1;

CREATE TABLE #kit_differences
(
    id          INT            NOT NULL IDENTITY PRIMARY KEY,
    setting     NVARCHAR(60)   NOT NULL,
    expected    NVARCHAR(60)   NOT NULL,
    actual      NVARCHAR(60)   NULL,
    command     NVARCHAR(400)  NOT NULL,
    correctable BIT            NOT NULL,
    outcome     NVARCHAR(2000) NULL
);

INSERT #kit_differences (setting, expected, actual, command, correctable)
SELECT b.setting, b.expected, b.actual,
    N'ALTER DATABASE CURRENT SET ' + b.setting + CASE WHEN b.setting IN (N'COMPATIBILITY_LEVEL', N'QUERY_STORE') THEN N' = ' ELSE N' ' END
    + b.expected + CASE WHEN b.correctable = 1 AND b.setting <> N'QUERY_STORE' THEN N' WITH NO_WAIT' ELSE N'' END + N';', b.correctable
FROM sys.databases AS d -- in Azure SQL Database, DB_ID() is another number than database_id here
CROSS APPLY
(
    VALUES
        (1, N'PAGE_VERIFY', N'$(param.page_verify)', d.page_verify_option_desc, 1),
        (2, N'AUTO_CLOSE', N'$(param.auto_close)', IIF(d.is_auto_close_on = 1, N'ON', N'OFF'), 1),
        (3, N'AUTO_SHRINK', N'$(param.auto_shrink)', IIF(d.is_auto_shrink_on = 1, N'ON', N'OFF'), 1),
        (4, N'AUTO_CREATE_STATISTICS', N'$(param.auto_create_statistics)', IIF(d.is_auto_create_stats_on = 1, N'ON', N'OFF'), 1),
        (5, N'AUTO_UPDATE_STATISTICS', N'$(param.auto_update_statistics)', IIF(d.is_auto_update_stats_on = 1, N'ON', N'OFF'), 1),
        (6, N'TRUSTWORTHY', N'$(param.trustworthy)', IIF(d.is_trustworthy_on = 1, N'ON', N'OFF'), 1),
        (7, N'QUERY_STORE', N'$(param.query_store)', IIF(d.is_query_store_on = 1, N'ON', N'OFF'), 1),
        (8, N'RECOVERY', N'$(param.recovery)', d.recovery_model_desc, 0),
        (9, N'COMPATIBILITY_LEVEL', CAST($(param.min_compatibility) AS NVARCHAR(10)), CAST(d.compatibility_level AS NVARCHAR(10)), 0)
) AS b (id, setting, expected, actual, correctable)
WHERE d.name = DB_NAME() AND b.expected <> N''
    AND CASE WHEN b.setting = N'COMPATIBILITY_LEVEL' THEN IIF(TRY_CAST(b.actual AS INT) < TRY_CAST(b.expected AS INT), 1, 0)
        WHEN b.expected <> b.actual COLLATE DATABASE_DEFAULT THEN 1 END = 1 -- descriptions of the catalog have a collation of their own
ORDER BY b.id;

DECLARE @id INT, @command NVARCHAR(400);
WHILE @apply = 1 AND EXISTS (SELECT 1 FROM #kit_differences WHERE correctable = 1 AND outcome IS NULL)
BEGIN
    SELECT TOP (1) @id = id, @command = command FROM #kit_differences WHERE correctable = 1 AND outcome IS NULL ORDER BY id;
    RAISERROR (N'%s', 0, 1, @command) WITH NOWAIT;
    BEGIN TRY
        EXECUTE sys.sp_executesql @command;
        UPDATE #kit_differences SET outcome = N'corrected' WHERE id = @id;
    END TRY
    BEGIN CATCH
        UPDATE #kit_differences SET outcome = LEFT(N'failed: ' + ERROR_MESSAGE(), 2000) WHERE id = @id;
    END CATCH;
END;

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name, f.setting, f.expected, f.actual,
    f.command, ISNULL(f.outcome, CASE WHEN @apply = 1 THEN N'left: needs a decision' ELSE N'reported' END) AS outcome
FROM #kit_differences AS f
ORDER BY f.id;
GO
-- In a batch of its own: an error beside a result set would leave the result in doubt, and it would not be kept.
IF EXISTS (SELECT 1 FROM #kit_differences WHERE outcome LIKE N'failed:%')
    THROW 50000, N'Settings could not be corrected. The result has the reasons.', 1;
IF $(param.fail_if_found) = 1 AND EXISTS (SELECT 1 FROM #kit_differences WHERE ISNULL(outcome, N'') <> N'corrected')
    THROW 50000, N'Settings differ from the baseline. The result has them.', 1;
