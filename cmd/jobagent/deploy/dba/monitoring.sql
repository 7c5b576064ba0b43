-- Read-only overview of a control database. Run it in that database.
SET QUOTED_IDENTIFIER ON;

-- Sessions of agents, fronts and the command line, and what they do.
SELECT
    s.session_id,
    s.host_name,
    s.program_name,
    s.login_name,
    s.status,
    r.command,
    r.wait_type,
    r.wait_time AS wait_ms,
    r.blocking_session_id,
    s.open_transaction_count,
    s.last_request_start_time
FROM sys.dm_exec_sessions AS s
LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
WHERE s.program_name LIKE N'jobagent%'
ORDER BY s.session_id;

-- Sessions that block others in this database, and for how long the longest one waits.
SELECT
    b.session_id AS blocker,
    b.login_name,
    b.host_name,
    b.program_name,
    b.status,
    b.open_transaction_count,
    COUNT(*) AS blocked,
    MAX(r.wait_time) AS longest_wait_ms
FROM sys.dm_exec_requests AS r
INNER JOIN sys.dm_exec_sessions AS b ON b.session_id = r.blocking_session_id
WHERE r.database_id = DB_ID()
GROUP BY b.session_id, b.login_name, b.host_name, b.program_name, b.status, b.open_transaction_count
ORDER BY longest_wait_ms DESC;

-- People's open transactions: they delay the runs of the rows that they have changed.
SELECT s.session_id, s.login_name, s.host_name, s.program_name, s.open_transaction_count, s.last_request_end_time
FROM sys.dm_exec_sessions AS s
WHERE s.open_transaction_count > 0
    AND s.session_id <> @@SPID
    AND s.program_name NOT LIKE N'jobagent%'
ORDER BY s.last_request_end_time;

-- Who holds our application locks: jobagent.advance for milliseconds at a time, jobagent.deploy during a migration.
SELECT l.request_session_id, l.resource_description, l.request_mode, l.request_status
FROM sys.dm_tran_locks AS l
WHERE l.resource_type = N'APPLICATION'
ORDER BY l.request_session_id;

-- What is active: runs, targets by lifecycle, the oldest run.
SELECT e.lifecycle, COUNT(*) AS runs, MIN(e.create_time) AS oldest
FROM jobs.job_executions AS e
WHERE e.is_active = 1
    AND e.step_id IS NULL
GROUP BY e.lifecycle
ORDER BY e.lifecycle;

-- Live agents.
SELECT * FROM jobs.live_agents;
