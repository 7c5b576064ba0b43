-- Begins the transaction of a script that runs at most once, and inserts the script's row. While another session has an
-- uncommitted row with the same key, this session waits. Returns Begun, Done or Partly.
-- The agent replaces $(database) and the other names; see once.go.
IF OBJECT_ID(N'jobagent.executed_scripts', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    EXECUTE sp_getapplock
        @Resource = N'jobagent.executed_scripts',
        @LockMode = N'Exclusive',
        @LockOwner = N'Transaction',
        @LockTimeout = -1;
    IF SCHEMA_ID(N'jobagent') IS NULL
        EXECUTE (N'CREATE SCHEMA jobagent;');
    IF OBJECT_ID(N'jobagent.executed_scripts', N'U') IS NULL
    BEGIN
        CREATE TABLE jobagent.executed_scripts (
            target_execution_id UNIQUEIDENTIFIER NOT NULL,
            job_execution_id    UNIQUEIDENTIFIER NOT NULL,
            step_id             INT NOT NULL,
            begun_at            DATETIME2(7) NOT NULL,
            completed_at        DATETIME2(7) NULL, -- NULL: the script ended the transaction itself
            CONSTRAINT PK_executed_scripts PRIMARY KEY (target_execution_id)
        );
        CREATE INDEX IX_executed_scripts_begun_at ON jobagent.executed_scripts (begun_at);
    END;
    COMMIT TRANSACTION;
END;

DELETE TOP (100) x
FROM jobagent.executed_scripts AS x WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK) -- READPAST alone is refused under READ_COMMITTED_SNAPSHOT
WHERE x.begun_at < DATEADD(DAY, -$(ledger_days), SYSUTCDATETIME());

BEGIN TRANSACTION;
BEGIN TRY
    INSERT INTO jobagent.executed_scripts (target_execution_id, job_execution_id, step_id, begun_at)
    VALUES ($(target_execution_id), $(job_execution_id), $(step_id), SYSUTCDATETIME());
    SELECT CAST(N'Begun' AS NVARCHAR(20)) AS state;
END TRY
BEGIN CATCH
    ROLLBACK TRANSACTION;
    IF ERROR_NUMBER() <> 2627 -- violation of PRIMARY KEY constraint
        THROW;
    SELECT CAST(CASE WHEN x.completed_at IS NULL THEN N'Partly' ELSE N'Done' END AS NVARCHAR(20)) AS state
    FROM jobagent.executed_scripts AS x
    WHERE x.target_execution_id = $(target_execution_id);
END CATCH;
