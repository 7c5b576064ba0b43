-- Compares the configuration of this server with a baseline, and returns the options that differ, and those whose new value waits for
-- RECONFIGURE or a restart. Azure SQL Database has no such configuration. OPENJSON needs the compatibility level 130.
-- https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-configurations-transact-sql
SET NOCOUNT ON;
DECLARE @baseline NVARCHAR(MAX) = N'$(param.baseline)';
DECLARE @edition INT = CAST(SERVERPROPERTY(N'EngineEdition') AS INT);
IF ISJSON(@baseline) = 0
    THROW 50000, N'The parameter baseline must be a JSON object of names and numbers.', 1;
IF @edition = 5
    PRINT N'Azure SQL Database has no configuration of a server. Nothing is reported.';

CREATE TABLE #kit_differences
(
    name       NVARCHAR(70)  NOT NULL,
    expected   BIGINT        NULL,
    configured BIGINT        NULL,
    in_use     BIGINT        NULL,
    finding    NVARCHAR(100) NOT NULL
);
INSERT #kit_differences (name, expected, configured, in_use, finding)
SELECT ISNULL(c.name, b.name), b.expected, c.configured, c.in_use,
    CASE
        WHEN c.name IS NULL THEN N'This server has no such option.'
        WHEN b.expected <> c.configured THEN N'It differs from the baseline.'
        ELSE N'The configured value is not in use yet.'
    END
FROM
(
    SELECT LEFT(j.[key], 70) COLLATE DATABASE_DEFAULT AS name, CAST(j.value AS BIGINT) AS expected FROM OPENJSON(@baseline) AS j
) AS b
FULL JOIN
(
    SELECT f.name COLLATE DATABASE_DEFAULT AS name, CAST(f.value AS BIGINT) AS configured, CAST(f.value_in_use AS BIGINT) AS in_use
    FROM sys.configurations AS f
    WHERE @edition <> 5
) AS c ON c.name = b.name
WHERE @edition <> 5
    AND
    (
        b.name IS NOT NULL AND (c.name IS NULL OR b.expected <> c.configured)
        -- Where 0 is configured as the least memory, the server uses 16.
        OR c.configured <> c.in_use AND c.name <> N'min server memory (MB)'
    );

SELECT SYSUTCDATETIME() AS collected_at, @@SERVERNAME AS server_name, f.name AS setting, f.expected, f.configured, f.in_use, f.finding
FROM #kit_differences AS f
ORDER BY f.name;
GO
-- In a batch of its own: an error beside a result set would leave the result in doubt, and it would not be kept.
IF $(param.fail_if_found) = 1 AND EXISTS (SELECT 1 FROM #kit_differences)
    THROW 50000, N'The configuration of the server differs from the baseline. The result has the options.', 1;
