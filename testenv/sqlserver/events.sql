-- The deadlock graphs of the session system_health, and the deadlock graphs and lock escalations of ours. The time of an event stands in
-- its text; the column timestamp_utc is not filtered by, since it has been known to match nothing.
-- https://learn.microsoft.com/sql/relational-databases/system-functions/sys-fn-xe-file-target-read-file-transact-sql
SELECT CAST(N'system_health' AS NVARCHAR(128)) AS session_name, f.object_name, f.event_data
FROM sys.fn_xe_file_target_read_file(N'system_health*.xel', NULL, NULL, NULL) AS f
WHERE f.object_name = N'xml_deadlock_report'
UNION ALL
SELECT N'jobagent_tests', f.object_name, f.event_data
FROM sys.fn_xe_file_target_read_file(N'jobagent_tests*.xel', NULL, NULL, NULL) AS f
WHERE f.object_name IN (N'xml_deadlock_report', N'lock_escalation');
