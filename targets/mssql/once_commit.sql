-- Commits the transaction of a script that runs at most once, if it is still the one that once_begin.sql began: in this case the
-- script's row exists and is not completed. Returns Committed, LeftOpen or Gone. The script may have changed the database.
DECLARE @open INT = @@TRANCOUNT;
DECLARE @marked INT = 0;
DECLARE @state NVARCHAR(20) = N'Gone';

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
    ELSE
        -- The script's work after the transaction's end is committed, so that no attempt may run it again.
        INSERT INTO [$(database)].jobagent.executed_scripts (target_execution_id, job_execution_id, step_id, begun_at)
        SELECT n.target_execution_id, $(job_execution_id), $(step_id), SYSUTCDATETIME()
        FROM (SELECT CAST($(target_execution_id) AS UNIQUEIDENTIFIER) AS target_execution_id) AS n
        WHERE NOT EXISTS (
            SELECT 1
            FROM [$(database)].jobagent.executed_scripts AS x
            WHERE x.target_execution_id = n.target_execution_id
        );
END;
SELECT @state AS state;
