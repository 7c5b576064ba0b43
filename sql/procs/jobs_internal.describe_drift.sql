-- Says in words how one schema differs from another one: the first ten differences, what is missing first and in the order in which a
-- database is built, and how many more there are. What belongs to an object that one of them lacks is not named.
--
-- The parts of a schema are arrays of three texts: the object in words, 16 hexadecimal digits of its hash, and the object to which it
-- belongs, in words, or an empty text (jobs/drift, Part).
--
-- Parameters:
--   @options  Those of both schemas.
--   @from     Fingerprint of the schema with which the other one is compared.
--   @to       Fingerprint of the schema that is described.
--   @lacks    The verb for what only @from has, such as lacks.
--   @has      The verb for what only @to has, such as has in addition.
--   @differs  The verb for what differs, such as has another.
--   @words    Receives the text, without a full stop; NULL: there is none, because the parts of a schema were not kept, or do not differ.
-- Called by: jobs_internal.record_drift.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.describe_drift
    @options NVARCHAR(300),
    @from    BINARY(32),
    @to      BINARY(32),
    @lacks   NVARCHAR(30),
    @has     NVARCHAR(30),
    @differs NVARCHAR(30),
    @words   NVARCHAR(2000) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @from_parts VARBINARY(MAX) = (
        SELECT d.parts
        FROM jobs_internal.drift_schemas AS d
        WHERE d.fingerprint = @from
            AND d.options = @options
    );
    DECLARE @to_parts VARBINARY(MAX) = (
        SELECT d.parts
        FROM jobs_internal.drift_schemas AS d
        WHERE d.fingerprint = @to
            AND d.options = @options
    );
    DECLARE @total INT;
    DECLARE @shown INT;
    DECLARE @list NVARCHAR(MAX);
    DECLARE @parts TABLE (
        is_to   BIT NOT NULL,
        ordinal INT NOT NULL,
        name    NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        hash    NVARCHAR(16) COLLATE Latin1_General_100_BIN2 NOT NULL,
        owner   NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        PRIMARY KEY (is_to, ordinal)
    );
    DECLARE @found TABLE (
        place INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        verb  NVARCHAR(30) NOT NULL,
        name  NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        owner NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        alone BIT NOT NULL -- only one of the schemas has it
    );
    DECLARE @alone TABLE (name NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY);
    DECLARE @widened TABLE (owner NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY); -- only one has all of its columns

    SET @words = NULL;
    IF @from_parts IS NULL OR @to_parts IS NULL
        RETURN 0;
    INSERT INTO @parts (is_to, ordinal, name, hash, owner)
    SELECT
        v.is_to,
        o.[key],
        CAST(JSON_VALUE(o.value, N'$[0]') AS NVARCHAR(400)),
        CAST(JSON_VALUE(o.value, N'$[1]') AS NVARCHAR(16)),
        CAST(JSON_VALUE(o.value, N'$[2]') AS NVARCHAR(400))
    FROM (VALUES
        (CAST(0 AS BIT), CAST(DECOMPRESS(@from_parts) AS NVARCHAR(MAX))),
        (CAST(1 AS BIT), CAST(DECOMPRESS(@to_parts) AS NVARCHAR(MAX)))
    ) AS v (is_to, text)
    CROSS APPLY OPENJSON(v.text) AS o;

    -- Objects that say the same, such as two constraints without names, have one name: each of them counts.
    WITH hashes AS (
        SELECT
            p.name,
            MAX(p.owner) AS owner,
            MIN(p.ordinal) AS ordinal,
            STRING_AGG(CASE WHEN p.is_to = 0 THEN CAST(p.hash AS NVARCHAR(MAX)) END, N',') WITHIN GROUP (ORDER BY p.hash) AS was,
            STRING_AGG(CASE WHEN p.is_to = 1 THEN CAST(p.hash AS NVARCHAR(MAX)) END, N',') WITHIN GROUP (ORDER BY p.hash) AS is_now
        FROM @parts AS p
        GROUP BY p.name
    )
    INSERT INTO @found (verb, name, owner, alone)
    SELECT
        CASE WHEN h.is_now IS NULL THEN @lacks WHEN h.was IS NULL THEN @has ELSE @differs END,
        h.name,
        h.owner,
        CASE WHEN h.is_now IS NULL OR h.was IS NULL THEN 1 ELSE 0 END
    FROM hashes AS h
    WHERE h.was IS NULL
        OR h.is_now IS NULL
        OR h.was <> h.is_now
    ORDER BY CASE WHEN h.is_now IS NULL THEN 1 WHEN h.was IS NULL THEN 2 ELSE 3 END, h.ordinal, h.name;
    -- What belongs to an object that one of them lacks; and the order of columns where one of them lacks a column.
    -- By keys: the list has a row for each column of each table if one of the databases is empty.
    INSERT INTO @alone (name)
    SELECT f.name
    FROM @found AS f
    WHERE f.alone = 1;
    INSERT INTO @widened (owner)
    SELECT DISTINCT f.owner
    FROM @found AS f
    WHERE f.alone = 1
        AND f.name LIKE N'column %';
    DELETE f
    FROM @found AS f
    INNER LOOP JOIN @alone AS o ON o.name = f.owner;
    DELETE f
    FROM @found AS f
    INNER LOOP JOIN @widened AS o ON o.owner = f.owner
    WHERE f.name LIKE N'order of columns of %';

    SET @total = (SELECT COUNT(*) FROM @found AS f);
    -- A verb stands before the first object that it is about.
    WITH shown AS (
        SELECT TOP (10) p.place, p.verb, p.name, LAG(p.verb) OVER (ORDER BY p.place) AS verb_before
        FROM @found AS p
        ORDER BY p.place
    )
    SELECT @list = STRING_AGG(
        CAST(CONCAT(
            CASE WHEN s.verb = s.verb_before THEN N', ' ELSE N'; ' + s.verb + N' ' END,
            LEFT(s.name, 150) COLLATE DATABASE_DEFAULT
        ) AS NVARCHAR(MAX)),
        N''
    ) WITHIN GROUP (ORDER BY s.place)
    FROM shown AS s;
    SET @list = STUFF(@list, 1, 2, N'');
    SET @shown = CASE WHEN @total > 10 THEN 10 ELSE @total END;
    SET @words = CONCAT(@list, N', and ' + CAST(NULLIF(@total - @shown, 0) AS NVARCHAR(12)) + N' more');
    SET @words = NULLIF(@words, N'');
    RETURN 0;
END;
