-- Commits the transaction of a script that runs at most once, if it is still the one that once_begin.sql began: in this case the
-- script's row exists and is not completed. Returns Committed, LeftOpen or Gone. The script may have changed the database.
DECLARE @open INT = @@TRANCOUNT;
DECLARE @marked INT = 0;
DECLARE @state NVARCHAR(20) = N'Gone';
DECLARE @tries INT = 5;

IF @open > 0
BEGIN
    UPDATE x
    SET x.completed_at = SYSUTCDATETIME()
    FROM [$(database)].jobagent.executed_scripts AS x
    WHERE x.target_execution_id = $(target_execution_id)
        AND x.completed_at IS NULL;
    SET @marked = @@ROWCOUNT;
END;
IF @marked = 1 AND @open = 1
BEGIN
    COMMIT TRANSACTION;
    SET @state = N'Committed';
END;
ELSE
BEGIN
    IF @open > 0
        ROLLBACK TRANSACTION;
    IF @marked = 1
        SET @state = N'LeftOpen';
    WHILE @marked = 0 AND @tries > 0
    BEGIN
        -- The script's work after the transaction's end is committed, so that no attempt may run it again. Without the row the
        -- next attempt would. The INSERT is therefore repeated after a deadlock or the end of a LOCK_TIMEOUT that the script set.
        SET @tries -= 1;
        BEGIN TRY
            INSERT INTO [$(database)].jobagent.executed_scripts (target_execution_id, job_execution_id, step_id, begun_at)
            SELECT n.target_execution_id, $(job_execution_id), $(step_id), SYSUTCDATETIME()
            FROM (SELECT CAST($(target_execution_id) AS UNIQUEIDENTIFIER) AS target_execution_id) AS n
            WHERE NOT EXISTS (
                SELECT 1
                FROM [$(database)].jobagent.executed_scripts AS x
                WHERE x.target_execution_id = n.target_execution_id
            );
            IF @@TRANCOUNT > 0
                COMMIT TRANSACTION; -- the script has set IMPLICIT_TRANSACTIONS
            SET @tries = 0;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @tries = 0 OR ERROR_NUMBER() NOT IN (1205, 1222)
                THROW;
            WAITFOR DELAY '00:00:00.100';
        END CATCH;
    END;
END;
SELECT @state AS state;
