-- Finds the ids and keys of databases by their names, as Go does (targets.TargetID, targets.DatabaseKey).
--
-- Parameters:
--   @list   JSON array of objects: ordinal, server_name, database_name. Names that are too long, or NULL, have no id.
--   @named  Receives a JSON array of objects: ordinal; server_key and database_key, the names in the form in which they are compared;
--           target_id. It is absent if the names have characters beyond ASCII and no such database is known: only Go computes it then.
-- Called by: jobs.sp_set_target_tags, jobs_internal.find_target.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.name_targets
    @list  NVARCHAR(MAX),
    @named NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    -- targets.TargetID: a name-based UUID (RFC 9562, version 5) of the keys of both names.
    DECLARE @namespace BINARY(16) = 0x8F1C8F0E5A0B4B5E9A532D1F5D7A6C11;
    DECLARE @keys TABLE (
        ordinal      INT NOT NULL PRIMARY KEY,
        server_key   NVARCHAR(257) COLLATE Latin1_General_100_BIN2 NULL,
        database_key NVARCHAR(129) COLLATE Latin1_General_100_BIN2 NULL,
        target_id    UNIQUEIDENTIFIER NULL
    );

    INSERT INTO @keys (ordinal, server_key, database_key)
    SELECT
        o.ordinal,
        LTRIM(RTRIM(LOWER(o.server_name COLLATE Latin1_General_100_CI_AS))),
        LTRIM(RTRIM(LOWER(o.database_name COLLATE Latin1_General_100_CI_AS)))
    FROM OPENJSON(@list) WITH (
        ordinal       INT,
        server_name   NVARCHAR(257),
        database_name NVARCHAR(129)
    ) AS o;
    UPDATE k
    SET k.server_key = STUFF(k.server_key, 1, 4, N'')
    FROM @keys AS k
    WHERE k.server_key LIKE N'tcp:%';
    UPDATE k
    SET k.server_key = LEFT(k.server_key, LEN(k.server_key) - 5)
    FROM @keys AS k
    WHERE k.server_key LIKE N'%,1433';
    -- The keys are the bytes of the id's name if all of their characters are of ASCII.
    WITH hashed AS (
        SELECT
            k.ordinal,
            HASHBYTES(
                'SHA1',
                @namespace + CAST(CAST(k.server_key AS VARCHAR(257)) AS VARBINARY(257)) + 0x00
                + CAST(CAST(k.database_key AS VARCHAR(129)) AS VARBINARY(129))
            ) AS hash
        FROM @keys AS k
        WHERE k.server_key NOT LIKE N'%[^ -~]%'
            AND k.database_key NOT LIKE N'%[^ -~]%'
    )
    UPDATE k
    SET k.target_id = CAST(
            -- the order of bytes in a UNIQUEIDENTIFIER: the first three groups are reversed
            SUBSTRING(h.hash, 4, 1) + SUBSTRING(h.hash, 3, 1) + SUBSTRING(h.hash, 2, 1) + SUBSTRING(h.hash, 1, 1)
            + SUBSTRING(h.hash, 6, 1) + SUBSTRING(h.hash, 5, 1) + SUBSTRING(h.hash, 8, 1)
            + CAST(CAST((CAST(SUBSTRING(h.hash, 7, 1) AS INT) & 15) | 80 AS TINYINT) AS BINARY(1))
            + CAST(CAST((CAST(SUBSTRING(h.hash, 9, 1) AS INT) & 63) | 128 AS TINYINT) AS BINARY(1))
            + SUBSTRING(h.hash, 10, 7)
            AS UNIQUEIDENTIFIER
        )
    FROM @keys AS k
    INNER JOIN hashed AS h ON h.ordinal = k.ordinal;
    -- A known database by its names, for other characters. Plan: a key of IX_targets_database_key for each.
    UPDATE k
    SET k.target_id = t.target_id
    FROM @keys AS k
    CROSS APPLY (
        SELECT TOP (1) t.target_id
        FROM jobs_internal.targets AS t
        WHERE t.database_key = k.database_key
            AND t.server_key = k.server_key
        ORDER BY t.target_id
    ) AS t
    WHERE k.target_id IS NULL;

    SET @named = COALESCE((
        SELECT k.ordinal, k.server_key, k.database_key, k.target_id
        FROM @keys AS k
        ORDER BY k.ordinal
        FOR JSON PATH
    ), N'[]');
    RETURN 0;
END;
