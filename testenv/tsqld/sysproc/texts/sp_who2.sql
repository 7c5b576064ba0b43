CREATE PROCEDURE sys.sp_who2 @loginame sysname = NULL
AS
-- Like sp_who, with additional columns. CPU time and reads are not measured.
SET NOCOUNT ON;
DECLARE @spid int = TRY_CONVERT(int, @loginame);
IF @loginame IS NOT NULL AND @spid IS NULL AND @loginame <> N'active' AND SUSER_ID(@loginame) IS NULL
BEGIN
    RAISERROR(15007, -1, -1, @loginame);
    RETURN 1;
END
SELECT CAST(s.session_id AS char(5)) AS SPID, CAST(s.status AS nvarchar(30)) AS Status, CAST(s.login_name AS nvarchar(128)) AS Login, CAST(COALESCE(NULLIF(s.host_name, N''), N'  .') AS nvarchar(128)) AS HostName,
    CAST(CASE WHEN COALESCE(r.blocking_session_id, 0) = 0 THEN N'  .' ELSE CAST(r.blocking_session_id AS nvarchar(5)) END AS nvarchar(5)) AS BlkBy, CAST(DB_NAME(s.database_id) AS nvarchar(128)) AS DBName,
    CAST(COALESCE(r.command, N'AWAITING COMMAND') AS nvarchar(26)) AS Command, CAST(s.cpu_time AS nvarchar(20)) AS CPUTime, CAST(s.reads + s.writes AS nvarchar(20)) AS DiskIO,
    CAST(CONVERT(nvarchar(5), s.last_request_start_time, 1) + N' ' + CONVERT(nvarchar(8), s.last_request_start_time, 8) AS nvarchar(14)) AS LastBatch, CAST(s.program_name AS nvarchar(128)) AS ProgramName,
    CAST(s.session_id AS char(5)) AS SPID, CAST(COALESCE(r.request_id, 0) AS char(5)) AS REQUESTID
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
WHERE @loginame IS NULL OR s.session_id = @spid OR @spid IS NULL AND @loginame = N'active' AND r.session_id IS NOT NULL OR @spid IS NULL AND s.login_name = @loginame
ORDER BY s.session_id;
RETURN 0;
