-- Checks a target: the login has succeeded when this runs. Prints "read-only" if scripts cannot change the database.
SET NOCOUNT ON;
IF CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS NVARCHAR(128)) <> N'READ_WRITE'
    PRINT N'read-only';
