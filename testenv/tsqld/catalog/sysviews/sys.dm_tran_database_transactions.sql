CREATE VIEW sys.dm_tran_database_transactions AS
SELECT t.transaction_id, l.resource_database_id AS database_id, CAST(NULL AS datetime) AS database_transaction_begin_time, 1 AS database_transaction_type, 4 AS database_transaction_state,
    0 AS database_transaction_status, 0 AS database_transaction_status2, CAST(0 AS bigint) AS database_transaction_log_record_count, 0 AS database_transaction_replicate_record_count,
    CAST(0 AS bigint) AS database_transaction_log_bytes_used, CAST(0 AS bigint) AS database_transaction_log_bytes_reserved, 0 AS database_transaction_log_bytes_used_system,
    0 AS database_transaction_log_bytes_reserved_system, CAST(NULL AS numeric(25, 0)) AS database_transaction_begin_lsn, CAST(NULL AS numeric(25, 0)) AS database_transaction_last_lsn,
    CAST(NULL AS numeric(25, 0)) AS database_transaction_most_recent_savepoint_lsn, CAST(NULL AS numeric(25, 0)) AS database_transaction_commit_lsn,
    CAST(NULL AS numeric(25, 0)) AS database_transaction_last_rollback_lsn, CAST(NULL AS numeric(25, 0)) AS database_transaction_next_undo_lsn
FROM sys.spt_transactions AS t
JOIN sys.dm_tran_locks AS l ON l.request_session_id = t.session_id AND l.resource_type = N'DATABASE' AND l.request_status = N'GRANT' AND l.request_mode = N'X'
