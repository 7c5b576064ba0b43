-- Reports requests that others block, and transactions that are open for long, on the whole server. Azure SQL Database shows
-- those of this database only.
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-requests-transact-sql
-- https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-active-transactions-transact-sql
SET NOCOUNT ON;
SET LOCK_TIMEOUT 5000; -- ms
DECLARE @blocked_seconds INT = $(param.blocked_seconds);
DECLARE @transaction_seconds INT = $(param.transaction_seconds);
DECLARE @whole_server BIT = $(param.whole_server);

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, DB_NAME(f.database_id) AS database_name, f.kind, f.seconds,
    f.session_id, s.login_name, s.host_name, s.program_name, s.status, f.wait_type, f.wait_resource, LEFT(f.text, 4000) AS script,
    f.blocking_session_id, b.login_name AS blocking_login, b.host_name AS blocking_host, b.program_name AS blocking_program,
    b.status AS blocking_status, LEFT(bt.text, 4000) AS blocking_script
INTO #kit_blocking
FROM
(
    -- A blocker below 0 is no session: -2 an orphaned distributed transaction, -5 a latch, for example.
    SELECT CAST(N'blocked' AS NVARCHAR(20)) AS kind, r.session_id, r.wait_time / 1000 AS seconds, r.database_id, r.wait_type,
        r.wait_resource, t.text, r.blocking_session_id
    FROM sys.dm_exec_requests AS r
    OUTER APPLY sys.dm_exec_sql_text(r.sql_handle) AS t
    WHERE r.blocking_session_id NOT IN (0, r.session_id) AND r.wait_time >= @blocked_seconds * 1000
    UNION ALL
    SELECT N'open transaction', x.session_id, DATEDIFF(SECOND, a.transaction_begin_time, GETDATE()), e.database_id, NULL, NULL, t.text, NULL
    FROM sys.dm_tran_session_transactions AS x
    JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = x.transaction_id
    JOIN sys.dm_exec_sessions AS e ON e.session_id = x.session_id
    LEFT JOIN sys.dm_exec_connections AS c ON c.session_id = x.session_id AND c.parent_connection_id IS NULL
    OUTER APPLY sys.dm_exec_sql_text(c.most_recent_sql_handle) AS t
    WHERE x.is_user_transaction = 1 AND a.transaction_begin_time <= DATEADD(SECOND, -@transaction_seconds, GETDATE())
) AS f
JOIN sys.dm_exec_sessions AS s ON s.session_id = f.session_id
LEFT JOIN sys.dm_exec_sessions AS b ON b.session_id = f.blocking_session_id
LEFT JOIN sys.dm_exec_connections AS bc ON bc.session_id = f.blocking_session_id AND bc.parent_connection_id IS NULL
OUTER APPLY sys.dm_exec_sql_text(bc.most_recent_sql_handle) AS bt
WHERE @whole_server = 1 OR f.database_id = DB_ID();

SELECT * FROM #kit_blocking ORDER BY seconds DESC, session_id;
GO
-- In a batch of its own: an error beside a result set would leave the result in doubt, and it would not be kept.
IF $(param.fail_if_found) = 1 AND EXISTS (SELECT 1 FROM #kit_blocking)
    THROW 50000, N'There are blocked requests or long transactions. The result has them.', 1;
