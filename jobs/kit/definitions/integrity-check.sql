-- Checks the integrity of this database. CHECKDB repairs nothing. What it finds are errors: the run fails, and keeps all of them
-- as messages (jobagent execution logs). The next step keeps the result.
-- https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-checkdb-transact-sql
SET NOCOUNT ON;
IF DB_NAME() = N'tempdb'
    THROW 50000, N'tempdb has no snapshots: a check would lock its tables.', 1;
IF $(param.physical_only) = 1
    DBCC CHECKDB (0) WITH NO_INFOMSGS, ALL_ERRORMSGS, PHYSICAL_ONLY;
ELSE
    DBCC CHECKDB (0) WITH NO_INFOMSGS, ALL_ERRORMSGS;
