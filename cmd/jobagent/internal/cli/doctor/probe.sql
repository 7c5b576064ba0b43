-- What a run needs of a target: a session in the database, which this is, and for scripts that change something, a database that
-- can be written to.
SET NOCOUNT ON;
IF CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS NVARCHAR(128)) <> N'READ_WRITE'
    PRINT N'read-only';
