CREATE VIEW sys.sysprocesses AS
SELECT s.session_id AS spid, CAST(0 AS smallint) AS kpid, COALESCE(r.blocking_session_id, CAST(0 AS smallint)) AS blocked, CAST(0x0000 AS binary(2)) AS waittype,
    CAST(COALESCE(r.wait_time, 0) AS bigint) AS waittime, CAST(COALESCE(r.last_wait_type, 'MISCELLANEOUS') AS nchar(32)) AS lastwaittype, CAST('' AS nchar(256)) AS waitresource,
    s.database_id AS dbid, CAST(1 AS smallint) AS uid, s.cpu_time AS cpu, CAST(0 AS bigint) AS physical_io, s.memory_usage AS memusage, s.login_time, s.last_request_start_time AS last_batch,
    CAST(0 AS smallint) AS ecid, CAST(s.open_transaction_count AS smallint) AS open_tran, CAST(s.status AS nchar(30)) AS status, CAST(s.security_id AS binary(86)) AS sid,
    CAST(s.host_name AS nchar(128)) AS hostname, CAST(s.program_name AS nchar(128)) AS program_name, CAST(CAST(s.host_process_id AS varchar(10)) AS nchar(10)) AS hostprocess,
    CAST(COALESCE(r.command, 'AWAITING COMMAND') AS nchar(26)) AS cmd, CAST('' AS nchar(128)) AS nt_domain, CAST('' AS nchar(128)) AS nt_username, CAST('' AS nchar(12)) AS net_address,
    CAST('TCP/IP' AS nchar(12)) AS net_library, CAST(s.login_name AS nchar(128)) AS loginame, CAST(NULL AS binary(128)) AS context_info, CAST(NULL AS binary(20)) AS sql_handle,
    0 AS stmt_start, 0 AS stmt_end, 0 AS request_id, CAST(NULL AS binary(20)) AS page_resource
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
