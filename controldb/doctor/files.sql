-- Files of the database; sizes are in pages of 8 KB.
SELECT
    f.name,
    f.type_desc,
    CAST(f.size AS BIGINT) AS size,
    CAST(f.max_size AS BIGINT) AS max_size,
    CAST(f.growth AS BIGINT) AS growth,
    f.is_percent_growth,
    CAST(FILEPROPERTY(f.name, N'SpaceUsed') AS BIGINT) AS used
FROM sys.database_files AS f
WHERE f.type_desc IN (N'ROWS', N'LOG')
ORDER BY f.file_id;
