-- Ends the Extended Events session of a test run. Its files stay, and can be read.
IF EXISTS (SELECT 1 FROM sys.server_event_sessions WHERE name = N'jobagent_tests')
    DROP EVENT SESSION jobagent_tests ON SERVER;
