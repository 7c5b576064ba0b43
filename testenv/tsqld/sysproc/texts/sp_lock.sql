CREATE PROCEDURE sys.sp_lock @spid1 int = NULL, @spid2 int = NULL
AS
-- Documentation: sp_lock.
SELECT CAST(request_session_id AS smallint) AS spid, CAST(resource_database_id AS smallint) AS dbid, CAST(0 AS int) AS ObjId, CAST(0 AS smallint) AS IndId,
    CAST(CASE resource_type WHEN N'APPLICATION' THEN N'APP' WHEN N'DATABASE' THEN N'DB' ELSE LEFT(resource_type, 4) END AS nchar(4)) AS Type, CAST(resource_description AS nchar(32)) AS Resource,
    CAST(request_mode AS nvarchar(8)) AS Mode, CAST(request_status AS nvarchar(5)) AS Status
FROM sys.dm_tran_locks
WHERE @spid1 IS NULL OR request_session_id IN (@spid1, @spid2)
ORDER BY 1, 2;
