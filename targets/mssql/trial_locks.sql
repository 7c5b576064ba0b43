-- Reads what the transaction of a trial has used and holds: one row. Rights that are missing (VIEW SERVER STATE, or VIEW DATABASE STATE in
-- Azure SQL Database) are reported, and do not end the transaction: XACT_ABORT is off meanwhile. Dynamic, so that CATCH gets all errors.
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-database-transactions-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-locks-transact-sql
DECLARE @jobagent_abort INT = @@OPTIONS & 16384; -- XACT_ABORT
SET XACT_ABORT OFF;
DECLARE @jobagent_log BIGINT, @jobagent_log_error NVARCHAR(500), @jobagent_locks NVARCHAR(MAX), @jobagent_locks_error NVARCHAR(500);
BEGIN TRY
    EXECUTE sys.sp_executesql N'SELECT @log = SUM(d.database_transaction_log_bytes_used)
FROM sys.dm_tran_database_transactions AS d
WHERE d.transaction_id = CURRENT_TRANSACTION_ID();', N'@log BIGINT OUTPUT', @log = @jobagent_log OUTPUT;
END TRY
BEGIN CATCH
    SET @jobagent_log_error = LEFT(ERROR_MESSAGE(), 400);
END CATCH;
BEGIN TRY
    EXECUTE sys.sp_executesql N'SET @locks = (
    SELECT TOP ($(locks)) k.type, k.mode, k.object, COUNT(*) AS count
    FROM (
        SELECT
            l.resource_type AS type,
            l.request_mode AS mode,
            CASE
                WHEN l.resource_type = N''OBJECT'' THEN CONCAT(
                    OBJECT_SCHEMA_NAME(l.resource_associated_entity_id, l.resource_database_id), N''.'',
                    OBJECT_NAME(l.resource_associated_entity_id, l.resource_database_id)
                )
                WHEN l.resource_type IN (N''KEY'', N''PAGE'', N''RID'', N''HOBT'') AND l.resource_database_id = DB_ID() THEN (
                    SELECT MAX(CONCAT(OBJECT_SCHEMA_NAME(p.object_id), N''.'', OBJECT_NAME(p.object_id)))
                    FROM sys.partitions AS p
                    WHERE p.hobt_id = l.resource_associated_entity_id
                )
            END AS object
        FROM sys.dm_tran_locks AS l
        WHERE l.request_session_id = @@SPID
            AND l.resource_type <> N''METADATA''
    ) AS k
    GROUP BY k.type, k.mode, k.object
    ORDER BY CASE WHEN k.mode LIKE N''%X%'' OR k.mode LIKE N''%M%'' THEN 0 ELSE 1 END, k.object, k.type, k.mode
    FOR JSON PATH
);', N'@locks NVARCHAR(MAX) OUTPUT', @locks = @jobagent_locks OUTPUT;
END TRY
BEGIN CATCH
    SET @jobagent_locks_error = LEFT(ERROR_MESSAGE(), 400);
END CATCH;
IF @jobagent_abort <> 0
    SET XACT_ABORT ON;
SELECT
    @jobagent_log AS log_bytes, @jobagent_log_error AS log_error, LEFT(@jobagent_locks, 8000) AS locks, @jobagent_locks_error AS locks_error;
