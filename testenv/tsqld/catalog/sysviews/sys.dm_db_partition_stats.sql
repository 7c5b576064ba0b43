CREATE VIEW sys.dm_db_partition_stats AS
SELECT p.partition_id, p.object_id, p.index_id, p.partition_number, CAST(0 AS bigint) AS in_row_data_page_count, CAST(0 AS bigint) AS in_row_used_page_count,
    CAST(0 AS bigint) AS in_row_reserved_page_count, CAST(0 AS bigint) AS lob_used_page_count, CAST(0 AS bigint) AS lob_reserved_page_count,
    CAST(0 AS bigint) AS row_overflow_used_page_count, CAST(0 AS bigint) AS row_overflow_reserved_page_count, CAST(0 AS bigint) AS used_page_count,
    CAST(0 AS bigint) AS reserved_page_count, p.rows AS row_count
FROM sys.partitions AS p
