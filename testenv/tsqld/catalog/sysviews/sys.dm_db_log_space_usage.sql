CREATE VIEW sys.dm_db_log_space_usage AS
SELECT CAST(DB_ID() AS smallint) AS database_id, SUM(CAST(f.size AS bigint)) * 8192 AS total_log_size_in_bytes, SUM(CAST(f.size AS bigint)) * 8192 AS used_log_space_in_bytes,
    CAST(100 AS real) AS used_log_space_in_percent, CAST(0 AS bigint) AS log_space_in_bytes_since_last_backup
FROM sys.database_files AS f
WHERE f.type = 1
