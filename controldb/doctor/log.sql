-- Size and use of the log.
SELECT l.total_log_size_in_bytes AS total, l.used_log_space_in_bytes AS used
FROM sys.dm_db_log_space_usage AS l;
