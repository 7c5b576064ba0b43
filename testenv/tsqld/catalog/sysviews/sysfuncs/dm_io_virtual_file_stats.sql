CREATE FUNCTION sys.dm_io_virtual_file_stats(@database_id int = NULL, @file_id int = NULL)
RETURNS TABLE
AS
-- Documentation: sys.dm_io_virtual_file_stats. Reads and writes are not counted.
RETURN (
    SELECT CAST(f.database_id AS smallint) AS database_id, CAST(f.file_id AS smallint) AS file_id, i.ms_ticks AS sample_ms, CAST(0 AS bigint) AS num_of_reads, CAST(0 AS bigint) AS num_of_bytes_read,
        CAST(0 AS bigint) AS io_stall_read_ms, CAST(0 AS bigint) AS num_of_writes, CAST(0 AS bigint) AS num_of_bytes_written, CAST(0 AS bigint) AS io_stall_write_ms, CAST(0 AS bigint) AS io_stall,
        CAST(f.size AS bigint) * 8192 AS size_on_disk_bytes, CAST(NULL AS varbinary(8)) AS file_handle, CAST(0 AS bigint) AS io_stall_queued_read_ms, CAST(0 AS bigint) AS io_stall_queued_write_ms
    FROM sys.master_files AS f
    CROSS JOIN sys.dm_os_sys_info AS i
    WHERE (f.database_id = @database_id OR @database_id IS NULL) AND (f.file_id = @file_id OR @file_id IS NULL)
)
