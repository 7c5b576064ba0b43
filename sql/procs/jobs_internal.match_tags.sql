-- Finds the databases whose tags match a filter (jobs_internal.parse_tag_filter), by reads alone.
--
-- Each condition is a bit, and each database has the bits of the conditions that are true for it. AND and OR are then evaluated for each
-- combination of bits that occurs: these are few, however many databases there are.
--
-- Cost: a key of target_tags for each database and condition, and a statement for each AND and OR.
--
-- Parameters:
--   @filter     The filter.
--   @targets    JSON array of objects with target_id: the databases that are examined; one that is not known has no tags. NULL: all that
--               are known.
--   @with_gone  1: also databases that are gone; without effect if @targets is given.
--   @matches    Receives a JSON array of objects with target_id; NULL: there is a fault.
--   @fault      Receives what is wrong with the filter; NULL: nothing.
-- Called by: jobs.sp_get_targets, jobs_internal.controller_pass, jobs_internal.assign_rollout_targets.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.match_tags
    @filter    NVARCHAR(MAX),
    @targets   NVARCHAR(MAX) = NULL,
    @with_gone BIT = 0,
    @matches   NVARCHAR(MAX) OUTPUT,
    @fault     NVARCHAR(1000) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @program NVARCHAR(MAX);
    DECLARE @absent BIGINT; -- the conditions IS NULL
    DECLARE @node INT = 0;
    DECLARE @is_and BIT;
    DECLARE @leaves BIGINT;
    DECLARE @nodes BIGINT;
    DECLARE @conditions TABLE (
        leaf    INT NOT NULL PRIMARY KEY,
        name    NVARCHAR(128) NOT NULL,
        test    NVARCHAR(4) NOT NULL,
        negated BIT NOT NULL,
        bit     BIGINT NOT NULL
    );
    DECLARE @texts TABLE (leaf INT NOT NULL, number INT NOT NULL, text NVARCHAR(256) NOT NULL, PRIMARY KEY (leaf, number));
    DECLARE @examined TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @marks TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, leaves BIGINT NOT NULL);
    DECLARE @masks TABLE (leaves BIGINT NOT NULL PRIMARY KEY, nodes BIGINT NOT NULL DEFAULT 0);

    SET @matches = NULL;
    EXECUTE jobs_internal.parse_tag_filter @filter = @filter, @program = @program OUTPUT, @fault = @fault OUTPUT;
    IF @fault IS NOT NULL
        RETURN 0;

    INSERT INTO @conditions (leaf, name, test, negated, bit)
    SELECT c.leaf, c.name, c.test, c.negated, POWER(CAST(2 AS BIGINT), c.leaf)
    FROM OPENJSON(@program, N'$.conditions') WITH (
        leaf    INT,
        name    NVARCHAR(128),
        test    NVARCHAR(4),
        negated BIT
    ) AS c;
    INSERT INTO @texts (leaf, number, text)
    SELECT c.leaf, CONVERT(INT, x.[key]), x.value
    FROM OPENJSON(@program, N'$.conditions') WITH (leaf INT, texts NVARCHAR(MAX) AS JSON) AS c
    CROSS APPLY OPENJSON(c.texts) AS x;
    SET @absent = COALESCE((SELECT SUM(c.bit) FROM @conditions AS c WHERE c.test = N'NULL' AND c.negated = 0), 0);

    IF @targets IS NULL
        INSERT INTO @examined (target_id)
        SELECT t.target_id
        FROM jobs_internal.targets AS t
        WHERE @with_gone = 1
            OR t.gone_at IS NULL;
    ELSE
        INSERT INTO @examined (target_id)
        SELECT DISTINCT o.target_id
        FROM OPENJSON(@targets) WITH (target_id UNIQUEIDENTIFIER) AS o
        WHERE o.target_id IS NOT NULL;

    INSERT INTO @marks (target_id, leaves)
    SELECT e.target_id, 0
    FROM @examined AS e;
    -- The bit of a condition about the tag itself is that it is there; those of IS NULL are turned below.
    WITH true_ones AS (
        SELECT g.target_id, SUM(c.bit) AS leaves
        FROM @examined AS e
        INNER JOIN jobs_internal.target_tags AS g ON g.target_id = e.target_id
        INNER JOIN @conditions AS c ON c.name = g.name
        WHERE c.test = N'NULL'
            OR c.negated = CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM @texts AS x
                    WHERE x.leaf = c.leaf
                        AND (
                            (c.test = N'=' AND g.value = x.text)
                            OR (c.test = N'LIKE' AND g.value LIKE x.text)
                        )
                ) THEN 0
                ELSE 1
            END
        GROUP BY g.target_id
    )
    UPDATE m
    SET m.leaves = u.leaves
    FROM @marks AS m
    INNER JOIN true_ones AS u ON u.target_id = m.target_id;
    IF @absent > 0
        UPDATE m
        SET m.leaves = m.leaves ^ @absent
        FROM @marks AS m;
    INSERT INTO @masks (leaves)
    SELECT DISTINCT m.leaves
    FROM @marks AS m;

    WHILE 1 = 1
    BEGIN
        SET @is_and = NULL;
        SELECT
            @is_and = n.is_and,
            @leaves = n.leaves,
            @nodes = n.nodes
        FROM OPENJSON(@program, N'$.nodes') WITH (node INT, is_and BIT, leaves BIGINT, nodes BIGINT) AS n
        WHERE n.node = @node;
        IF @is_and IS NULL
            BREAK;
        UPDATE m
        SET m.nodes = m.nodes | POWER(CAST(2 AS BIGINT), @node)
        FROM @masks AS m
        WHERE (@is_and = 1 AND (m.leaves & @leaves) = @leaves AND (m.nodes & @nodes) = @nodes)
            OR (@is_and = 0 AND ((m.leaves & @leaves) <> 0 OR (m.nodes & @nodes) <> 0));
        SET @node = @node + 1;
    END;
    SELECT
        @leaves = p.result_leaves,
        @nodes = p.result_nodes
    FROM OPENJSON(@program) WITH (result_leaves BIGINT, result_nodes BIGINT) AS p;
    SET @matches = COALESCE((
        SELECT m.target_id
        FROM @masks AS k
        INNER JOIN @marks AS m ON m.leaves = k.leaves
        WHERE (k.leaves & @leaves) <> 0
            OR (k.nodes & @nodes) <> 0
        ORDER BY m.target_id
        FOR JSON PATH
    ), N'[]');
    RETURN 0;
END;
