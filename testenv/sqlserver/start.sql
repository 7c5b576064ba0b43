-- Starts the Extended Events session of a test run, which writes to files in the server's log directory. An older one of that name ends.
-- Deadlock graphs are collected by the session system_health, too, which SQL Server starts by itself, but writes late.
-- https://learn.microsoft.com/sql/t-sql/statements/create-event-session-transact-sql
IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = N'jobagent_tests')
    DROP EVENT SESSION jobagent_tests ON SERVER;
CREATE EVENT SESSION jobagent_tests ON SERVER
    ADD EVENT sqlserver.lock_escalation (ACTION (sqlserver.database_name, sqlserver.sql_text, sqlserver.client_app_name)),
    ADD EVENT sqlserver.xml_deadlock_report
    ADD TARGET package0.event_file (SET filename = N'jobagent_tests.xel', max_file_size = (50), max_rollover_files = (4))
    WITH (MAX_DISPATCH_LATENCY = 1 SECONDS, STARTUP_STATE = OFF);
ALTER EVENT SESSION jobagent_tests ON SERVER STATE = START;
