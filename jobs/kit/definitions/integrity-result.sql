-- Keeps when this database was last found sound, and the damaged pages that the server has met.
-- LastGoodCheckDbTime is in the server's clock, 1900-01-01 if there was no check; the run's time is UTC, so ages are compared.
-- https://learn.microsoft.com/sql/t-sql/functions/databasepropertyex-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/system-tables/suspect-pages-transact-sql
SET NOCOUNT ON;
DECLARE @last_good DATETIME = CAST(DATABASEPROPERTYEX(DB_NAME(), N'LastGoodCheckDbTime') AS DATETIME);
DECLARE @run_seconds INT = DATEDIFF(SECOND, CAST($(job_execution_create_time) AS DATETIME2(7)), SYSUTCDATETIME());
DECLARE @suspect_pages INT;

-- Azure SQL Database has no msdb. Types 1 to 3 are damaged, 4, 5 and 7 repaired.
IF CAST(SERVERPROPERTY(N'EngineEdition') AS INT) <> 5 AND OBJECT_ID(N'msdb.dbo.suspect_pages') IS NOT NULL
    EXECUTE sys.sp_executesql
        N'SELECT @n = COUNT(*) FROM msdb.dbo.suspect_pages WHERE database_id = DB_ID() AND event_type IN (1, 2, 3);',
        N'@n INT OUTPUT', @n = @suspect_pages OUTPUT;

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME() AS database_name,
    CASE WHEN $(param.physical_only) = 1 THEN N'physical' ELSE N'full' END AS kind,
    NULLIF(@last_good, '19000101') AS last_good_check,
    CAST(CASE WHEN DATEDIFF(SECOND, NULLIF(@last_good, '19000101'), GETDATE()) <= @run_seconds THEN 1 ELSE 0 END AS BIT) AS passed,
    @suspect_pages AS suspect_pages;
