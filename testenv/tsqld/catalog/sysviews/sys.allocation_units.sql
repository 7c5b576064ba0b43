CREATE VIEW sys.allocation_units AS
SELECT p.partition_id AS allocation_unit_id, CAST(1 AS tinyint) AS type, CAST('IN_ROW_DATA' AS nvarchar(60)) AS type_desc, p.hobt_id AS container_id, 1 AS data_space_id,
    CAST(0 AS bigint) AS total_pages, CAST(0 AS bigint) AS used_pages, CAST(0 AS bigint) AS data_pages
FROM sys.partitions AS p
