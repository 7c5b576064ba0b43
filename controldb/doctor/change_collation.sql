-- Gives the database the collation of the tables' columns. For administrators; $(collation) is the collation.
-- Nobody else may be connected: stop the agents and the REST fronts before.
-- A database with CHECK constraints cannot be changed (5075), so those of jobagent are dropped and added again.
SET XACT_ABORT ON;
DECLARE @drop NVARCHAR(MAX), @add NVARCHAR(MAX), @failed NVARCHAR(2048);
SELECT
    @drop = STRING_AGG(CAST(CONCAT(N'ALTER TABLE ', x.on_table, N' DROP CONSTRAINT ', QUOTENAME(c.name), N';') AS NVARCHAR(MAX)), NCHAR(10)),
    @add = STRING_AGG(CAST(CONCAT(N'ALTER TABLE ', x.on_table, N' WITH CHECK ADD CONSTRAINT ', QUOTENAME(c.name), N' CHECK ', c.definition, N';')
        AS NVARCHAR(MAX)), NCHAR(10))
FROM sys.check_constraints AS c
CROSS APPLY (SELECT CONCAT(QUOTENAME(OBJECT_SCHEMA_NAME(c.parent_object_id)), N'.', QUOTENAME(OBJECT_NAME(c.parent_object_id))) AS on_table) AS x
WHERE c.schema_id = SCHEMA_ID(N'jobs_internal');
SELECT @add AS added_again; -- keep them: they are to be run if this session ends before it has added them
BEGIN TRANSACTION;
EXECUTE (@drop);
COMMIT TRANSACTION;
BEGIN TRY
    EXECUTE (N'ALTER DATABASE CURRENT COLLATE $(collation);');
END TRY
BEGIN CATCH
    SET @failed = CONCAT(ERROR_MESSAGE(), N' Other sessions use the database, or objects of others depend on its collation.');
END CATCH;
BEGIN TRANSACTION;
EXECUTE (@add);
COMMIT TRANSACTION;
IF @failed IS NOT NULL
    THROW 50000, @failed, 1;
