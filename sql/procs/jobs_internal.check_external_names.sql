-- Checks names of what exists elsewhere: servers, databases, pools, shard maps, tables and logins. Agents connect with these names, so
-- they may be whatever the other system permits, but for characters that nobody sees, and servers in the form that agents understand.
-- targets.CheckServer has the same form, and controldb/doctor/names.sql lists older names with the same conditions.
--
-- Parameters:
--   @names              JSON array of objects with the members parameter (of the caller, for the message), name (NULL and blanks
--                       pass), is_server (1: the name has the form of a server), and ordinal, if they belong to members of a target group.
--   @target_group_name  The target group of these members; NULL: none.
-- Called by: the procedures that take such names.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character.
--   50403 the server name has not the form host, host\instance or host,port.
CREATE OR ALTER PROCEDURE jobs_internal.check_external_names
    @names             NVARCHAR(MAX),
    @target_group_name NVARCHAR(128) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @number INT;
    DECLARE @hidden NVARCHAR(100) = (SELECT h.pattern FROM jobs_internal.hidden_characters AS h);

    WITH given AS (
        SELECT
            o.ordinal,
            o.parameter,
            o.name,
            o.is_server,
            LTRIM(RTRIM(LOWER(o.name COLLATE Latin1_General_100_CI_AS))) AS folded
        FROM OPENJSON(@names) WITH (
            ordinal   INT,
            parameter NVARCHAR(128),
            name      NVARCHAR(257),
            is_server BIT
        ) AS o
        WHERE o.name <> N''
    ),
    parts AS (
        SELECT
            g.ordinal,
            g.parameter,
            g.name,
            g.is_server,
            COALESCE(
                NULLIF(CHARINDEX(NCHAR(0), g.name COLLATE Latin1_General_100_BIN2), 0),
                NULLIF(PATINDEX(@hidden, g.name COLLATE Latin1_General_100_BIN2), 0)
            ) AS place,
            LTRIM(RTRIM(LEFT(t.text, CHARINDEX(N',', t.text + N',') - 1))) AS place_of_host,
            LTRIM(RTRIM(STUFF(t.text, 1, CHARINDEX(N',', t.text), N''))) AS port,
            CHARINDEX(N',', t.text) AS comma
        FROM given AS g
        CROSS APPLY (
            SELECT
                CASE
                    WHEN g.folded LIKE N'tcp:%' THEN STUFF(g.folded, 1, 4, N'')
                    ELSE g.folded
                END COLLATE Latin1_General_100_BIN2 AS text
        ) AS t
    ),
    hosts AS (
        SELECT
            p.ordinal,
            p.parameter,
            p.name,
            p.is_server,
            p.place,
            p.comma,
            p.port,
            b.slash,
            LTRIM(STUFF(p.place_of_host, 1, b.slash, N'')) AS instance,
            CASE
                WHEN b.host LIKE N'[[]%]' THEN SUBSTRING(b.host, 2, LEN(b.host) - 2)
                ELSE b.host
            END AS host
        FROM parts AS p
        CROSS APPLY (
            SELECT
                CHARINDEX(N'\', p.place_of_host) AS slash,
                RTRIM(LEFT(p.place_of_host, CHARINDEX(N'\', p.place_of_host + N'\') - 1)) AS host
        ) AS b
    ),
    faults AS (
        SELECT
            h.ordinal,
            h.parameter,
            h.name,
            h.place,
            CASE
                WHEN h.place IS NOT NULL THEN 50093
                WHEN h.is_server = 1 AND (
                    h.name COLLATE Latin1_General_100_BIN2 LIKE N'%[;=''"{}*' + NCHAR(160) + N']%'
                    OR h.host LIKE N'%[[ /@]%' OR CHARINDEX(N']', h.host) > 0 -- no set can have ], because [] is an empty set
                    OR (h.host = N'' AND (h.slash = 0 OR h.instance = N''))
                    OR (h.host LIKE N'%:%' AND h.host NOT LIKE N'%:%:%')
                    OR (h.host LIKE N'%:%' AND LEFT(h.host, CHARINDEX(N'%', h.host + N'%') - 1) LIKE N'%[^0-9a-f:.]%')
                    OR (h.slash > 0 AND (h.instance = N'' OR h.instance LIKE N'%[[ /@\]%' OR CHARINDEX(N']', h.instance) > 0))
                    OR (h.comma > 0 AND h.port LIKE N'%[^0-9]%')
                    OR (h.comma > 0 AND COALESCE(TRY_CAST(h.port AS INT), 0) NOT BETWEEN 1 AND 65535)
                ) THEN 50403
            END AS number
        FROM hosts AS h
    )
    SELECT TOP (1)
        @number = f.number,
        @message = REPLACE(CONCAT(
            CASE
                WHEN f.ordinal IS NULL THEN N'Invalid '
                ELSE CONCAT(N'Member ', f.ordinal, N' of the target group ''', @target_group_name, N''': invalid ')
            END,
            f.parameter,
            CASE
                WHEN f.number = 50403 THEN CONCAT(N' ''', f.name, N''': want a server as host, host\instance or host,port.')
                ELSE CONCAT(
                    N': the character ', f.place, N' is U+',
                    CONVERT(NVARCHAR(4), CONVERT(BINARY(2), UNICODE(SUBSTRING(f.name, f.place, 1))), 2),
                    N', which is not visible. Want a name without control characters and marks of direction.'
                )
            END
        ), N'%', N'%%')
    FROM faults AS f
    WHERE f.number IS NOT NULL
    ORDER BY f.ordinal, f.number;
    IF @number = 50093
        THROW 50093, @message, 1;
    IF @number = 50403
        THROW 50403, @message, 1;
    RETURN 0;
END;
