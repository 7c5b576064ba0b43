CREATE PROCEDURE sys.sp_databases
AS
-- Documentation: sp_databases. The size is in kilobytes.
SET NOCOUNT ON;
SELECT d.name AS DATABASE_NAME, CAST((SELECT SUM(CAST(f.size AS bigint)) * 8 FROM sys.master_files AS f WHERE f.database_id = d.database_id) AS int) AS DATABASE_SIZE, CAST(NULL AS varchar(254)) AS REMARKS
FROM sys.databases AS d
WHERE HAS_DBACCESS(d.name) = 1
ORDER BY 1;
