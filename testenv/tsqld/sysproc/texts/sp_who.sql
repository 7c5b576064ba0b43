CREATE PROCEDURE sys.sp_who @loginame sysname = NULL
AS
-- Documentation: sp_who. @loginame is a login, a session ID, or 'active'. 'active' leaves out sessions that wait for
-- a command.
DECLARE @spid int = TRY_CONVERT(int, @loginame);
IF @loginame IS NOT NULL AND @spid IS NULL AND @loginame <> N'active' AND SUSER_ID(@loginame) IS NULL
BEGIN
    RAISERROR(15007, -1, -1, @loginame);
    RETURN 1;
END
SELECT s.session_id AS spid, CAST(0 AS smallint) AS ecid, CAST(s.status AS nchar(30)) AS status, CAST(s.login_name AS nchar(128)) AS loginame, CAST(s.host_name AS nchar(128)) AS hostname,
    CAST(COALESCE(r.blocking_session_id, 0) AS char(5)) AS blk, CAST(DB_NAME(s.database_id) AS nchar(128)) AS dbname, CAST(COALESCE(r.command, N'AWAITING COMMAND') AS nchar(26)) AS cmd,
    COALESCE(r.request_id, 0) AS request_id
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
WHERE @loginame IS NULL OR s.session_id = @spid OR @spid IS NULL AND @loginame = N'active' AND r.session_id IS NOT NULL OR @spid IS NULL AND s.login_name = @loginame
ORDER BY s.session_id;
RETURN 0;
