CREATE PROCEDURE sys.sp_tablecollations_100
    @object nvarchar(4000) = NULL
AS
-- SqlBulkCopy of SqlClient (SqlBulkCopy.cs): the columns of a table, with their collations in the format of TDS. A missing
-- table has no rows.
SELECT c.column_id AS colid, c.name, t.tds_collation, t.name AS collation
FROM sys.columns AS c
LEFT JOIN sys.spt_collations AS t ON t.name = c.collation_name
WHERE c.object_id = OBJECT_ID(@object)
ORDER BY c.column_id;
