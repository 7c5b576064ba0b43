-- Reads a filter of tags: conditions that are joined by AND, OR, NOT and parentheses, such as
--
--   tier = 'gold' AND NOT region IN ('eu', 'us') OR name LIKE 'demo%' OR owner IS NULL
--
-- It means what it would mean in a WHERE of T-SQL, with the tags of a database as columns, and NULL for a tag that it does not have. So
-- tier <> 'gold' and NOT tier = 'gold' are true for databases that have the tag tier, with another value. AND binds more than OR, NOT more
-- than AND. Conditions are =, <> (or !=), IN, LIKE, IS NULL, and NOT IN, NOT LIKE, IS NOT NULL. Names of tags stand as they are, or in
-- brackets if they are one of these words; values are texts in quotes.
--
-- NOT is moved to the conditions (De Morgan), which is right in the logic of three values, too: what is left is AND and OR of conditions
-- that are true or not. jobs_internal.match_tags evaluates the program. DESIGN.md, "Targets and tags".
--
-- Parameters:
--   @filter   The text; at most 4,000 characters and 50 conditions.
--   @program  Receives a JSON object. conditions: leaf (the bit 2^leaf stands for it), name, test (=, LIKE or NULL), negated, texts.
--             nodes: node, is_and, leaves and nodes (the bits of what it joins), in the order in which they are evaluated.
--             result_leaves and result_nodes: the bit that is the result.
--   @fault    Receives what is wrong, with the position of the character; NULL: nothing.
-- Called by: procedures that take a filter, and jobs_internal.match_tags.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.parse_tag_filter
    @filter  NVARCHAR(MAX),
    @program NVARCHAR(MAX) = NULL OUTPUT,
    @fault   NVARCHAR(1000) = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @length INT = DATALENGTH(@filter) / 2;
    DECLARE @name_end NVARCHAR(30) = N'%[^A-Za-z0-9_.-]%';
    DECLARE @position INT = 1; -- of a character, from 1
    DECLARE @character NVARCHAR(1);
    DECLARE @rest NVARCHAR(MAX); -- from @position on
    DECLARE @size INT;
    DECLARE @number INT = 0;     -- of a token, from 1
    DECLARE @last INT;
    DECLARE @kind NVARCHAR(10);
    DECLARE @text NVARCHAR(MAX);
    DECLARE @start INT;
    DECLARE @name NVARCHAR(128);
    DECLARE @test NVARCHAR(4);
    DECLARE @expects_operand BIT = 1;
    DECLARE @negates BIT = 0;    -- 1: the parentheses around are negated
    DECLARE @pending BIT = 0;    -- 1: NOT came right before
    DECLARE @negated BIT;
    DECLARE @leaf INT = 0;       -- number of conditions
    DECLARE @node INT = 0;       -- number of nodes
    DECLARE @operators INT = 0;  -- on the stack
    DECLARE @operands INT = 0;
    DECLARE @top NVARCHAR(10);
    DECLARE @want NVARCHAR(200); -- what should be in the place of the token
    DECLARE @tokens TABLE (
        number INT NOT NULL PRIMARY KEY,
        start  INT NOT NULL,
        kind   NVARCHAR(10) NOT NULL, -- name, text, end, a word in capital letters, or a sign
        text   NVARCHAR(MAX) NOT NULL
    );
    DECLARE @conditions TABLE (leaf INT NOT NULL PRIMARY KEY, name NVARCHAR(128) NOT NULL, test NVARCHAR(4) NOT NULL, negated BIT NOT NULL);
    DECLARE @texts TABLE (leaf INT NOT NULL, number INT NOT NULL, text NVARCHAR(MAX) NOT NULL, PRIMARY KEY (leaf, number));
    DECLARE @nodes TABLE (node INT NOT NULL PRIMARY KEY, is_and BIT NOT NULL, leaves BIGINT NOT NULL, nodes BIGINT NOT NULL);
    DECLARE @operator_stack TABLE (
        depth   INT NOT NULL PRIMARY KEY,
        kind    NVARCHAR(10) NOT NULL, -- AND, OR, (
        is_and  BIT NOT NULL,          -- what it is when NOT is moved inside
        negates BIT NOT NULL,          -- (: @negates before it
        start   INT NOT NULL
    );
    DECLARE @operand_stack TABLE (depth INT NOT NULL PRIMARY KEY, leaves BIGINT NOT NULL, nodes BIGINT NOT NULL);

    SET @program = NULL;
    SET @fault = NULL;
    IF @length > 4000
        SET @fault = CONCAT(N'want at most 4000 characters, not ', @length, N'.');
    IF @filter IS NULL OR LTRIM(@filter) = N''
        SET @fault = N'it is empty. Want conditions such as tier = ''gold''.';

    -- The tokens. The collation has one position for each unit of UTF-16, whatever that of the database is.
    WHILE @fault IS NULL AND @position <= @length
    BEGIN
        SET @rest = SUBSTRING(@filter COLLATE Latin1_General_100_BIN2, @position, 4000);
        SET @size = PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @rest COLLATE Latin1_General_100_BIN2);
        IF @size = 0
            BREAK;
        SET @position = @position + @size - 1;
        SET @rest = SUBSTRING(@filter COLLATE Latin1_General_100_BIN2, @position, 4000);
        SET @character = LEFT(@rest COLLATE Latin1_General_100_BIN2, 1);
        SET @number = @number + 1;
        SET @kind = NULL;
        IF @character IN (N'(', N')', N',', N'=')
            SELECT @kind = @character, @text = @character, @size = 1;
        ELSE IF LEFT(@rest, 2) IN (N'<>', N'!=')
            SELECT @kind = N'<>', @text = LEFT(@rest, 2), @size = 2;
        ELSE IF @character = N'''' OR LEFT(@rest COLLATE Latin1_General_100_BIN2, 2) IN (N'N''', N'n''')
        BEGIN
            -- @size: the closing quote, which is not one of two
            SET @start = CASE WHEN @character = N'''' THEN 2 ELSE 3 END;
            SET @size = CHARINDEX(N'''', @rest COLLATE Latin1_General_100_BIN2, @start);
            WHILE @size > 0 AND SUBSTRING(@rest COLLATE Latin1_General_100_BIN2, @size + 1, 1) = N''''
                SET @size = CHARINDEX(N'''', @rest COLLATE Latin1_General_100_BIN2, @size + 2);
            IF @size = 0
                SET @fault = CONCAT(N'at character ', @position, N': the text in quotes has no end.');
            ELSE
                SELECT
                    @kind = N'text',
                    @text = REPLACE(SUBSTRING(@rest COLLATE Latin1_General_100_BIN2, @start, @size - @start), N'''''', N'''');
            IF @kind = N'text' AND DATALENGTH(@text) > 512
                SET @fault = CONCAT(N'at character ', @position, N': a value has at most 256 characters.');
        END
        ELSE IF @character = N'['
        BEGIN
            SET @size = CHARINDEX(N']', @rest COLLATE Latin1_General_100_BIN2);
            SELECT @kind = N'name', @text = CASE WHEN @size > 2 THEN SUBSTRING(@rest, 2, @size - 2) ELSE N'' END;
            IF @text = N'' OR PATINDEX(@name_end, @text COLLATE Latin1_General_100_BIN2) > 0
                SET @fault = CONCAT(N'at character ', @position, N': want the name of a tag in the brackets: letters, digits, _, - and .');
        END
        ELSE IF PATINDEX(@name_end, @character COLLATE Latin1_General_100_BIN2) = 0
        BEGIN
            SET @size = PATINDEX(@name_end, (@rest + N' ') COLLATE Latin1_General_100_BIN2) - 1;
            SET @text = LEFT(@rest COLLATE Latin1_General_100_BIN2, @size);
            SET @kind = CASE @text COLLATE Latin1_General_100_CI_AS
                WHEN N'and' THEN N'AND'
                WHEN N'or' THEN N'OR'
                WHEN N'not' THEN N'NOT'
                WHEN N'in' THEN N'IN'
                WHEN N'like' THEN N'LIKE'
                WHEN N'is' THEN N'IS'
                WHEN N'null' THEN N'NULL'
                ELSE N'name'
            END;
        END
        ELSE
            SET @fault = CONCAT(
                N'at character ', @position, N': ''', @character, N''' has no meaning here.',
                CASE
                    WHEN @character IN (N'"', NCHAR(8216), NCHAR(8217), NCHAR(8220), NCHAR(8221)) THEN N' Values are in single quotes.'
                    WHEN @character IN (N'<', N'>') THEN N' Want =, <>, IN, LIKE or IS.'
                END
            );
        IF @kind = N'name' AND DATALENGTH(@text) > 256
            SET @fault = CONCAT(N'at character ', @position, N': the name of a tag has at most 128 characters.');
        IF @fault IS NULL
            INSERT INTO @tokens (number, start, kind, text)
            VALUES (@number, @position, @kind, @text);
        SET @position = @position + @size;
    END;
    SET @last = @number + 1;
    INSERT INTO @tokens (number, start, kind, text)
    SELECT @last, @length + 1, N'end', N''
    WHERE @fault IS NULL;

    SET @number = 1;
    WHILE @fault IS NULL AND @number <= @last
    BEGIN
        SELECT
            @kind = t.kind,
            @text = t.text,
            @start = t.start
        FROM @tokens AS t
        WHERE t.number = @number;
        SET @want = NULL;
        IF @expects_operand = 1 AND @kind = N'NOT'
            SET @pending = 1 - @pending;
        ELSE IF @expects_operand = 1 AND @kind = N'('
        BEGIN
            SET @operators = @operators + 1;
            INSERT INTO @operator_stack (depth, kind, is_and, negates, start)
            VALUES (@operators, N'(', 0, @negates, @start);
            SET @negates = @negates ^ @pending;
            SET @pending = 0;
        END
        ELSE IF @expects_operand = 1 AND @kind = N'name'
        BEGIN
            SET @name = @text;
            SET @negated = @negates ^ @pending;
            SET @pending = 0;
            SET @number = @number + 1;
            SELECT @kind = t.kind, @text = t.text, @start = t.start FROM @tokens AS t WHERE t.number = @number;
            IF @kind = N'NOT'
            BEGIN
                SET @negated = 1 - @negated;
                SET @number = @number + 1;
                SELECT @kind = t.kind, @text = t.text, @start = t.start FROM @tokens AS t WHERE t.number = @number;
                SET @want = CASE WHEN @kind NOT IN (N'IN', N'LIKE') THEN N'IN or LIKE' END;
            END;
            SET @test = CASE
                WHEN @kind IN (N'=', N'<>', N'IN') THEN N'='
                WHEN @kind = N'LIKE' THEN N'LIKE'
                WHEN @kind = N'IS' THEN N'NULL'
            END;
            IF @test IS NULL AND @want IS NULL
                SET @want = CONCAT(N'=, <>, IN, LIKE or IS after the name of the tag ', @name);
            IF @kind = N'<>'
                SET @negated = 1 - @negated;
            -- The token after the operator. @top: IN, if a list follows.
            IF @want IS NULL
            BEGIN
                SET @top = @kind;
                SET @number = @number + 1;
                SELECT @kind = t.kind, @text = t.text, @start = t.start FROM @tokens AS t WHERE t.number = @number;
                IF @test = N'NULL' AND @kind = N'NOT'
                BEGIN
                    SET @negated = 1 - @negated;
                    SET @number = @number + 1;
                    SELECT @kind = t.kind, @text = t.text, @start = t.start FROM @tokens AS t WHERE t.number = @number;
                END;
                SET @want = CASE
                    WHEN @test = N'NULL' AND @kind <> N'NULL' THEN N'NULL or NOT NULL after IS'
                    WHEN @top = N'IN' AND @kind <> N'(' THEN N'( after IN'
                    WHEN @test = N'NULL' OR @top = N'IN' THEN NULL
                    WHEN @kind = N'NULL' THEN N'IS NULL or IS NOT NULL in place of a comparison with NULL'
                    WHEN @kind <> N'text' THEN N'a value in single quotes, such as ''gold'''
                END;
            END;
            IF @want IS NULL AND @leaf = 50
                SET @fault = N'it has more than 50 conditions.';
            IF @want IS NULL AND @fault IS NULL
            BEGIN
                INSERT INTO @conditions (leaf, name, test, negated)
                VALUES (@leaf, @name, @test, @negated);
                IF @test <> N'NULL' AND @top <> N'IN'
                    INSERT INTO @texts (leaf, number, text)
                    VALUES (@leaf, 1, @text);
                WHILE @top = N'IN' AND @want IS NULL AND @kind <> N')'
                BEGIN
                    SET @number = @number + 1;
                    SELECT @kind = t.kind, @text = t.text, @start = t.start FROM @tokens AS t WHERE t.number = @number;
                    IF @kind <> N'text'
                        SET @want = N'a value in single quotes, such as ''gold''';
                    ELSE
                    BEGIN
                        INSERT INTO @texts (leaf, number, text)
                        VALUES (@leaf, @number, @text);
                        SET @number = @number + 1;
                        SELECT @kind = t.kind, @text = t.text, @start = t.start FROM @tokens AS t WHERE t.number = @number;
                        IF @kind NOT IN (N',', N')')
                            SET @want = N', or ) after a value of IN';
                    END;
                END;
                SET @operands = @operands + 1;
                INSERT INTO @operand_stack (depth, leaves, nodes)
                VALUES (@operands, POWER(CAST(2 AS BIGINT), @leaf), 0);
                SET @leaf = @leaf + 1;
                SET @expects_operand = 0;
            END;
        END
        ELSE IF @expects_operand = 1
            SET @want = N'the name of a tag, NOT or (';
        ELSE IF @kind IN (N'AND', N'OR', N')', N'end')
        BEGIN
            -- What binds at least as much, and stands before, is joined first.
            SET @top = (SELECT o.kind FROM @operator_stack AS o WHERE o.depth = @operators);
            WHILE @top = N'AND' OR (@top = N'OR' AND @kind <> N'AND')
            BEGIN
                INSERT INTO @nodes (node, is_and, leaves, nodes)
                SELECT @node, o.is_and, a.leaves | b.leaves, a.nodes | b.nodes
                FROM @operator_stack AS o
                INNER JOIN @operand_stack AS a ON a.depth = @operands - 1
                INNER JOIN @operand_stack AS b ON b.depth = @operands
                WHERE o.depth = @operators;
                DELETE o
                FROM @operator_stack AS o
                WHERE o.depth = @operators;
                DELETE o
                FROM @operand_stack AS o
                WHERE o.depth = @operands;
                SET @operators = @operators - 1;
                SET @operands = @operands - 1;
                UPDATE o
                SET o.leaves = 0,
                    o.nodes = POWER(CAST(2 AS BIGINT), @node)
                FROM @operand_stack AS o
                WHERE o.depth = @operands;
                SET @node = @node + 1;
                SET @top = (SELECT o.kind FROM @operator_stack AS o WHERE o.depth = @operators);
            END;
            IF @kind IN (N'AND', N'OR')
            BEGIN
                SET @operators = @operators + 1;
                INSERT INTO @operator_stack (depth, kind, is_and, negates, start)
                VALUES (@operators, @kind, CASE WHEN @kind = N'AND' THEN 1 ELSE 0 END ^ @negates, 0, @start);
                SET @expects_operand = 1;
            END
            ELSE IF @kind = N')' AND @top IS NULL
                SET @fault = CONCAT(N'at character ', @start, N': the ) has no ( before it.');
            ELSE IF @kind = N')'
            BEGIN
                SET @negates = (SELECT o.negates FROM @operator_stack AS o WHERE o.depth = @operators);
                DELETE o
                FROM @operator_stack AS o
                WHERE o.depth = @operators;
                SET @operators = @operators - 1;
            END
            ELSE IF @top = N'('
                SELECT @fault = CONCAT(N'at character ', o.start, N': the ( is not closed.')
                FROM @operator_stack AS o
                WHERE o.depth = @operators;
        END
        ELSE
            SET @want = N'AND, OR or the end';

        IF @want IS NOT NULL
            SET @fault = CONCAT(
                N'at character ', @start, N': want ', @want, N', not ',
                CASE WHEN @kind = N'end' THEN N'the end' WHEN @kind = N'text' THEN N'a text' ELSE LEFT(@text, 100) END, N'.'
            );
        SET @number = @number + 1;
    END;

    IF @fault IS NULL
        SET @program = (
            SELECT
                JSON_QUERY((
                    SELECT
                        c.leaf,
                        c.name,
                        c.test,
                        c.negated,
                        JSON_QUERY(CONCAT(N'[', (
                            SELECT STRING_AGG(CONCAT(N'"', STRING_ESCAPE(x.text, N'json'), N'"'), N',') WITHIN GROUP (ORDER BY x.number)
                            FROM @texts AS x
                            WHERE x.leaf = c.leaf
                        ), N']')) AS texts
                    FROM @conditions AS c
                    ORDER BY c.leaf
                    FOR JSON PATH
                )) AS conditions,
                JSON_QUERY(COALESCE((
                    SELECT n.node, n.is_and, n.leaves, n.nodes
                    FROM @nodes AS n
                    ORDER BY n.node
                    FOR JSON PATH
                ), N'[]')) AS nodes,
                o.leaves AS result_leaves,
                o.nodes AS result_nodes
            FROM @operand_stack AS o
            WHERE o.depth = 1
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
    RETURN 0;
END;
