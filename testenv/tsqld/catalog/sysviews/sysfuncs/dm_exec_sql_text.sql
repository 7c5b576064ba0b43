CREATE FUNCTION sys.dm_exec_sql_text(@handle varbinary(64))
RETURNS TABLE
AS
-- Documentation: sys.dm_exec_sql_text. Only the handles of current requests are valid.
RETURN (SELECT TOP 1 CAST(NULL AS smallint) AS dbid, CAST(NULL AS int) AS objectid, CAST(NULL AS smallint) AS number, CAST(0 AS bit) AS encrypted, text FROM sys.spt_sql_texts WHERE sql_handle = @handle)
