-- Starts an Extended Events session for what must not happen in a control database: deadlocks, lock escalation, lock waits of more than five
-- seconds. It needs ALTER ANY EVENT SESSION (SQL Server; on Azure SQL Database use ON DATABASE and a ring_buffer target).
-- https://learn.microsoft.com/sql/t-sql/statements/create-event-session-transact-sql
IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = N'jobagent_watch')
    DROP EVENT SESSION jobagent_watch ON SERVER;
CREATE EVENT SESSION jobagent_watch ON SERVER
    ADD EVENT sqlserver.xml_deadlock_report,
    ADD EVENT sqlserver.lock_escalation (ACTION (sqlserver.database_name, sqlserver.client_app_name, sqlserver.sql_text)),
    ADD EVENT sqlos.wait_info (
        ACTION (sqlserver.session_id, sqlserver.client_app_name, sqlserver.sql_text)
        WHERE duration > 5000 AND opcode = 1 AND wait_type < 22 -- the lock waits, LCK_M_SCH_S to LCK_M_RX_X
    )
    ADD TARGET package0.event_file (SET filename = N'jobagent_watch.xel', max_file_size = (50), max_rollover_files = (4))
    WITH (MAX_DISPATCH_LATENCY = 5 SECONDS, STARTUP_STATE = ON);
ALTER EVENT SESSION jobagent_watch ON SERVER STATE = START;
