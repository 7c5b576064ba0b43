CREATE FUNCTION sys.dm_db_stats_properties(@object_id int, @stats_id int)
RETURNS TABLE
AS
-- Documentation: sys.dm_db_stats_properties. There are no histograms, so all statistics are as those that were never built.
RETURN (
    SELECT s.object_id, s.stats_id, CAST(NULL AS datetime2) AS last_updated, CAST(NULL AS bigint) AS rows, CAST(NULL AS bigint) AS rows_sampled, CAST(NULL AS int) AS steps,
        CAST(NULL AS bigint) AS unfiltered_rows, CAST(NULL AS bigint) AS modification_counter, CAST(NULL AS float) AS persisted_sample_percent
    FROM sys.stats AS s
    WHERE s.object_id = @object_id AND s.stats_id = @stats_id
)
