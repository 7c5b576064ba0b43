-- Checks values of declared parameters against their types. The Go package jobs/parameters has the same rules.
--
-- Parameters:
--   @values  JSON array of objects: name (of the parameter), type, kind (of the JSON value, as in OPENJSON), value (its text).
--   @fault   Receives a sentence about the first value that does not have its type; NULL: all have.
-- Called by: jobs_internal.check_declarations, jobs_internal.complete_parameters.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.check_values
    @values NVARCHAR(MAX),
    @fault  NVARCHAR(2048) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    SET @fault = NULL;
    -- The collation decides what [0-9] means: others find more digits than ten.
    WITH given AS (
        SELECT
            CAST(o.[key] AS INT) AS place,
            v.name,
            v.type,
            v.kind,
            v.value
        FROM OPENJSON(@values) AS o
        CROSS APPLY OPENJSON(o.value) WITH (
            name  NVARCHAR(128),
            type  NVARCHAR(10),
            kind  INT,
            value NVARCHAR(MAX)
        ) AS v
    )
    SELECT TOP (1) @fault = CONCAT(
        N'the parameter ''', g.name, N''' is ', CASE g.type
            WHEN N'text' THEN N'a text'
            WHEN N'integer' THEN N'an integer from -9223372036854775808 to 9223372036854775807'
            WHEN N'number' THEN N'a number'
            WHEN N'boolean' THEN N'true or false'
            WHEN N'date' THEN N'a date such as "2026-01-31"'
            ELSE N'a time such as "2026-01-31T22:00:00", without a zone'
        END,
        N', not ', CASE g.kind
            WHEN 0 THEN N'null'
            WHEN 1 THEN CONCAT(N'the text "', LEFT(g.value, 100), N'"')
            WHEN 4 THEN N'an array'
            WHEN 5 THEN N'an object'
            ELSE LEFT(g.value, 100)
        END
    )
    FROM given AS g
    WHERE CASE
        WHEN g.type = N'text' THEN CASE WHEN g.kind = 1 THEN 1 ELSE 0 END
        WHEN g.type = N'integer' THEN CASE
            WHEN g.kind = 2
                AND g.value COLLATE Latin1_General_100_BIN2 NOT LIKE N'%[^-0-9]%'
                AND TRY_CAST(g.value AS BIGINT) IS NOT NULL THEN 1
            ELSE 0
        END
        WHEN g.type = N'number' THEN CASE WHEN g.kind = 2 THEN 1 ELSE 0 END
        WHEN g.type = N'boolean' THEN CASE WHEN g.kind = 3 THEN 1 ELSE 0 END
        WHEN g.type = N'date' THEN CASE
            WHEN g.kind = 1
                AND g.value COLLATE Latin1_General_100_BIN2 LIKE N'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'
                AND DATALENGTH(g.value) = 20
                AND TRY_CONVERT(DATE, g.value, 23) IS NOT NULL THEN 1
            ELSE 0
        END
        WHEN g.kind = 1
            AND g.value COLLATE Latin1_General_100_BIN2
                LIKE N'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]%'
            AND (DATALENGTH(g.value) = 38 OR (
                DATALENGTH(g.value) BETWEEN 42 AND 54
                AND SUBSTRING(g.value, 20, 1) = N'.'
                AND SUBSTRING(g.value, 21, 7) COLLATE Latin1_General_100_BIN2 NOT LIKE N'%[^0-9]%'
            ))
            AND TRY_CONVERT(DATETIME2(7), g.value, 126) IS NOT NULL THEN 1
        ELSE 0
    END = 0
    ORDER BY g.place;
    RETURN 0;
END;
