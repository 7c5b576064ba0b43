CREATE FUNCTION sys.dm_db_index_physical_stats(@database_id smallint = NULL, @object_id int = NULL, @index_id int = NULL, @partition_number int = NULL, @mode nvarchar(20) = NULL)
RETURNS TABLE
AS
-- Documentation: sys.dm_db_index_physical_stats. Each index has one row, for its leaf level. The columns
-- of the modes SAMPLED and DETAILED are NULL, except the number of rows. Fragmentation is that of the leaf pages in
-- SQLite's file: logical fragmentation of an index, extent fragmentation of a heap. Fragments are not counted.
RETURN (
    SELECT CAST(DB_ID() AS smallint) AS database_id, p.object_id, p.index_id, p.partition_number,
        CAST(CASE p.index_id WHEN 0 THEN 'HEAP' WHEN 1 THEN 'CLUSTERED INDEX' ELSE 'NONCLUSTERED INDEX' END AS nvarchar(60)) AS index_type_desc, CAST('IN_ROW_DATA' AS nvarchar(60)) AS alloc_unit_type_desc,
        CAST(s.depth AS tinyint) AS index_depth, CAST(0 AS tinyint) AS index_level, s.fragmentation AS avg_fragmentation_in_percent, CAST(NULL AS bigint) AS fragment_count,
        CAST(NULL AS float) AS avg_fragment_size_in_pages, s.pages AS page_count, CAST(NULL AS float) AS avg_page_space_used_in_percent,
        CASE WHEN @mode IN (N'SAMPLED', N'DETAILED') THEN p.rows END AS record_count, CAST(NULL AS bigint) AS ghost_record_count, CAST(NULL AS bigint) AS version_ghost_record_count,
        CAST(NULL AS int) AS min_record_size_in_bytes, CAST(NULL AS int) AS max_record_size_in_bytes, CAST(NULL AS float) AS avg_record_size_in_bytes, CAST(NULL AS bigint) AS forwarded_record_count,
        CAST(NULL AS bigint) AS compressed_page_count, p.hobt_id, CAST(0 AS tinyint) AS columnstore_delete_buffer_state, CAST(NULL AS nvarchar(60)) AS columnstore_delete_buffer_state_desc,
        CAST(NULL AS bigint) AS version_record_count, CAST(NULL AS bigint) AS inrow_version_record_count, CAST(NULL AS bigint) AS inrow_diff_version_record_count,
        CAST(NULL AS bigint) AS total_inrow_version_payload_size_in_bytes, CAST(NULL AS bigint) AS offrow_regular_version_record_count, CAST(NULL AS bigint) AS offrow_long_term_version_record_count
    FROM sys.partitions AS p
    JOIN sys.spt_index_pages AS s ON s.object_id = p.object_id AND s.index_id = p.index_id
    WHERE ISNULL(NULLIF(@database_id, 0), DB_ID()) = DB_ID() AND (p.object_id = @object_id OR ISNULL(@object_id, 0) = 0) AND (p.index_id = @index_id OR ISNULL(@index_id, -1) = -1)
        AND (p.partition_number = @partition_number OR ISNULL(@partition_number, 0) = 0)
)
