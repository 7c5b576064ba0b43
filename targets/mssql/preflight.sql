-- Checks a database before a script runs there: one row. Nothing is changed. What needs a right that is missing is dynamic, so that CATCH
-- gets the error; its text is in a column of its own.
-- Pages of https://learn.microsoft.com/sql: t-sql/functions/databasepropertyex-transact-sql, t-sql/functions/has-perms-by-name-transact-sql,
-- relational-databases/system-dynamic-management-views/sys-dm-db-log-space-usage-transact-sql,
-- relational-databases/system-catalog-views/sys-database-files-transact-sql (sizes are pages of 8 KB; max_size -1: no limit; growth 0: fixed).
SET NOCOUNT ON;
SET LOCK_TIMEOUT 10000;
-- By name: in Azure SQL Database, DB_ID() is another number than database_id here (t-sql/functions/db-id-transact-sql).
DECLARE @compatibility INT = (SELECT d.compatibility_level FROM sys.databases AS d WHERE d.name = DB_NAME());
DECLARE @primary BIT, @log_mb BIGINT, @data_mb BIGINT, @blocked INT, @oldest BIGINT;
DECLARE @log_error NVARCHAR(400), @data_error NVARCHAR(400), @blocked_error NVARCHAR(400), @oldest_error NVARCHAR(400);
DECLARE @missing NVARCHAR(MAX) = N'';
$(rights)
BEGIN TRY
    EXECUTE sys.sp_executesql N'SET @primary = sys.fn_hadr_is_primary_replica(DB_NAME());', N'@primary BIT OUTPUT', @primary = @primary OUTPUT;
END TRY
BEGIN CATCH
    SET @primary = NULL; -- no availability groups there
END CATCH;
BEGIN TRY
    EXECUTE sys.sp_executesql N'SELECT @free = (u.total_log_size_in_bytes - u.used_log_space_in_bytes) / 1048576 + (
    SELECT SUM(CASE
        WHEN f.growth = 0 THEN 0
        WHEN f.max_size = -1 THEN 2097152
        WHEN f.max_size > f.size THEN (CAST(f.max_size AS BIGINT) - f.size) / 128
        ELSE 0
    END)
    FROM sys.database_files AS f
    WHERE f.type = 1
)
FROM sys.dm_db_log_space_usage AS u;', N'@free BIGINT OUTPUT', @free = @log_mb OUTPUT;
END TRY
BEGIN CATCH
    SET @log_error = LEFT(ERROR_MESSAGE(), 400);
END CATCH;
BEGIN TRY
    EXECUTE sys.sp_executesql N'SELECT @free = SUM(
    (CAST(f.size AS BIGINT) - COALESCE(FILEPROPERTY(f.name, N''SpaceUsed''), f.size)) / 128
    + CASE
        WHEN f.growth = 0 THEN 0
        WHEN f.max_size = -1 THEN 2097152
        WHEN f.max_size > f.size THEN (CAST(f.max_size AS BIGINT) - f.size) / 128
        ELSE 0
    END
)
FROM sys.database_files AS f
WHERE f.type = 0;', N'@free BIGINT OUTPUT', @free = @data_mb OUTPUT;
END TRY
BEGIN CATCH
    SET @data_error = LEFT(ERROR_MESSAGE(), 400);
END CATCH;
BEGIN TRY
    EXECUTE sys.sp_executesql N'SELECT @blocked = COUNT(*)
FROM sys.dm_exec_requests AS r
WHERE r.database_id = DB_ID()
    AND r.blocking_session_id <> 0;', N'@blocked INT OUTPUT', @blocked = @blocked OUTPUT;
END TRY
BEGIN CATCH
    SET @blocked_error = LEFT(ERROR_MESSAGE(), 400);
END CATCH;
BEGIN TRY
    EXECUTE sys.sp_executesql N'SELECT @oldest = MAX(CAST(DATEDIFF(SECOND, a.transaction_begin_time, GETDATE()) AS BIGINT))
FROM sys.dm_tran_database_transactions AS d
INNER JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = d.transaction_id
INNER JOIN sys.dm_tran_session_transactions AS s ON s.transaction_id = d.transaction_id
WHERE d.database_id = DB_ID()
    AND s.session_id <> @@SPID;', N'@oldest BIGINT OUTPUT', @oldest = @oldest OUTPUT;
END TRY
BEGIN CATCH
    SET @oldest_error = LEFT(ERROR_MESSAGE(), 400);
END CATCH;
SELECT
    CAST(DATABASEPROPERTYEX(DB_NAME(), N'Status') AS NVARCHAR(128)) AS status,
    CAST(DATABASEPROPERTYEX(DB_NAME(), N'UserAccess') AS NVARCHAR(128)) AS user_access,
    CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS NVARCHAR(128)) AS updateability,
    CAST(@primary AS INT) AS is_primary,
    CAST(SERVERPROPERTY(N'ProductVersion') AS NVARCHAR(128)) AS version,
    @compatibility AS compatibility,
    LEFT(@missing, 4000) AS missing_rights,
    @log_mb AS log_mb, @log_error AS log_error,
    @data_mb AS data_mb, @data_error AS data_error,
    @blocked AS blocked, @blocked_error AS blocked_error,
    @oldest AS oldest, @oldest_error AS oldest_error;
