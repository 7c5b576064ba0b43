CREATE VIEW sys.dm_tran_active_transactions AS
SELECT t.transaction_id, t.name, t.begin_time AS transaction_begin_time, 1 AS transaction_type, CAST(NULL AS uniqueidentifier) AS transaction_uow, 2 AS transaction_state, 0 AS transaction_status,
    0 AS transaction_status2, 0 AS dtc_state, 0 AS dtc_status, CAST(NULL AS int) AS dtc_isolation_level, CAST(NULL AS varbinary(128)) AS filestream_transaction_id
FROM sys.spt_transactions AS t
