-- Checks declarations of parameters, and brings them into the form in which they are stored: members in a fixed order, without those
-- that are as if they were absent. The Go package jobs/parameters has the same rules and the same form.
--
-- Parameters:
--   @parameters  As in jobs.sp_set_job_parameters.
--   @stored      Receives the JSON array to store; NULL: no parameters are declared.
-- Called by: jobs.sp_set_job_parameters, before its transaction.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50062 the declarations of parameters are invalid.
CREATE OR ALTER PROCEDURE jobs_internal.check_declarations
    @parameters NVARCHAR(MAX),
    @stored     NVARCHAR(MAX) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @fault NVARCHAR(2048);
    DECLARE @values NVARCHAR(MAX);
    DECLARE @members TABLE (
        place INT NOT NULL, -- of the declaration in the array, from 0
        name  NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
        kind  INT NOT NULL, -- type of the value, as in OPENJSON
        value NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL
    );
    DECLARE @declared TABLE (
        place         INT NOT NULL PRIMARY KEY,
        name          NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        type          NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        required      BIT NOT NULL,
        default_kind  INT NULL,
        default_value NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        choices       NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        description   NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL
    );
    DECLARE @choices TABLE (
        place  INT NOT NULL,
        choice INT NOT NULL,
        kind   INT NOT NULL,
        value  NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        PRIMARY KEY (place, choice)
    );

    SET @stored = NULL;
    IF @parameters IS NULL OR LTRIM(@parameters) = N''
        RETURN 0;
    IF DATALENGTH(@parameters) > 204800
        THROW 50062, N'Invalid @parameters: want at most 102400 characters.', 1;
    IF NOT EXISTS (SELECT 1 FROM OPENJSON(CONCAT(N'[', CASE WHEN ISJSON(@parameters) = 1 THEN @parameters END, N']')) AS o WHERE o.type = 4)
        OR EXISTS (SELECT 1 FROM OPENJSON(CASE WHEN ISJSON(@parameters) = 1 THEN @parameters ELSE N'[]' END) AS o WHERE o.type <> 5)
        THROW 50062, N'Invalid @parameters: want a JSON array of objects, such as [{"name": "days", "type": "integer"}].', 1;
    IF (SELECT COUNT(*) FROM OPENJSON(@parameters)) > 100
        THROW 50062, N'Invalid @parameters: a job declares at most 100 parameters.', 1;

    INSERT INTO @members (place, name, kind, value)
    SELECT CAST(o.[key] AS INT), LEFT(m.[key], 400), m.type, m.value
    FROM OPENJSON(@parameters) AS o
    CROSS APPLY OPENJSON(o.value) AS m;
    INSERT INTO @declared (place, name, type, required, default_kind, default_value, choices, description)
    SELECT
        CAST(o.[key] AS INT),
        (SELECT MAX(m.value) FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'name' AND m.kind = 1),
        COALESCE((SELECT MAX(m.value) FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'type'), N'text'),
        CASE
            WHEN EXISTS (
                SELECT 1 FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'required' AND m.value = N'true'
            ) THEN 1
            ELSE 0
        END,
        (SELECT MAX(m.kind) FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'default' AND m.kind <> 0),
        (SELECT MAX(m.value) FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'default'),
        (SELECT MAX(m.value) FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'choices' AND m.kind = 4),
        (SELECT NULLIF(MAX(m.value), N'') FROM @members AS m WHERE m.place = CAST(o.[key] AS INT) AND m.name = N'description')
    FROM OPENJSON(@parameters) AS o;
    INSERT INTO @choices (place, choice, kind, value)
    SELECT d.place, CAST(c.[key] AS INT), c.type, c.value
    FROM @declared AS d
    CROSS APPLY OPENJSON(d.choices) AS c
    WHERE d.choices IS NOT NULL;

    -- The first fault of each declaration, in this order.
    SELECT TOP (1) @fault = CONCAT(COALESCE(N'''' + LEFT(n.name, 128) + N'''', CONCAT(N'element ', f.place + 1)), N': ', f.fault)
    FROM (
        SELECT d.place, 1 AS rank, N'the name is missing: want "name" with 1 to 128 letters, digits, _ or -' AS fault
        FROM @declared AS d
        WHERE d.name IS NULL
            OR d.name = N''
            OR DATALENGTH(d.name) > 256
            OR d.name LIKE N'%[^A-Za-z0-9_-]%'
        UNION ALL
        SELECT d.place, 2, N'it is declared twice; names must differ in more than case'
        FROM @declared AS d
        WHERE EXISTS (SELECT 1 FROM @declared AS e WHERE e.place < d.place AND e.name COLLATE Latin1_General_100_CI_AS = d.name)
        UNION ALL
        SELECT m.place, 3, CONCAT(N'unknown member "', LEFT(m.name, 100), N'": want name, type, required, default, choices or description')
        FROM @members AS m
        WHERE m.name NOT IN (N'name', N'type', N'required', N'default', N'choices', N'description')
        UNION ALL
        SELECT m.place, 4, CONCAT(N'the member "', LEFT(m.name, 100), N'" is there twice')
        FROM @members AS m
        GROUP BY m.place, m.name
        HAVING COUNT(*) > 1
        UNION ALL
        SELECT m.place, 5, CONCAT(N'the member "', LEFT(m.name, 100), N'" has a value of a wrong kind: want ', CASE m.name
            WHEN N'required' THEN N'true or false'
            WHEN N'choices' THEN N'an array'
            ELSE N'a text'
        END)
        FROM @members AS m
        WHERE (m.name IN (N'type', N'description') AND m.kind NOT IN (0, 1))
            OR (m.name = N'required' AND m.kind NOT IN (0, 3))
            OR (m.name = N'choices' AND m.kind NOT IN (0, 4))
        UNION ALL
        SELECT d.place, 6, CONCAT(
            N'unknown type "', LEFT(d.type, 100), N'": want text, integer, number, boolean, date or datetime'
        )
        FROM @declared AS d
        WHERE d.type NOT IN (N'text', N'integer', N'number', N'boolean', N'date', N'datetime')
        UNION ALL
        SELECT d.place, 7, N'a required parameter has no default: omit "default" or "required"'
        FROM @declared AS d
        WHERE d.required = 1
            AND d.default_kind IS NOT NULL
        UNION ALL
        SELECT d.place, 8, N'want 1 to 100 choices, each of them once, for a type other than boolean'
        FROM @declared AS d
        WHERE d.choices IS NOT NULL
            AND (d.type = N'boolean'
                OR (SELECT COUNT(*) FROM @choices AS c WHERE c.place = d.place) NOT BETWEEN 1 AND 100
                OR EXISTS (
                    SELECT 1
                    FROM @choices AS c
                    WHERE c.place = d.place
                    GROUP BY c.value
                    HAVING COUNT(*) > 1
                ))
        UNION ALL
        SELECT d.place, 9, N'the description has more than 512 characters'
        FROM @declared AS d
        WHERE DATALENGTH(d.description) > 1024
        UNION ALL
        SELECT d.place, 10, N'the default is not one of the choices'
        FROM @declared AS d
        WHERE d.default_kind IS NOT NULL
            AND d.choices IS NOT NULL
            AND NOT EXISTS (
                SELECT 1
                FROM @choices AS c
                WHERE c.place = d.place
                    AND c.kind = d.default_kind
                    AND CAST(c.value AS VARBINARY(MAX)) = CAST(d.default_value AS VARBINARY(MAX))
            )
    ) AS f
    INNER JOIN @declared AS n ON n.place = f.place
    ORDER BY f.place, f.rank;
    IF @fault IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @parameters: ', @fault, N'.'), N'%', N'%%');
        THROW 50062, @message, 1;
    END;

    WITH all_values AS (
        SELECT d.place, -1 AS choice, d.name, d.type, d.default_kind AS kind, d.default_value AS value
        FROM @declared AS d
        WHERE d.default_kind IS NOT NULL
        UNION ALL
        SELECT d.place, c.choice, d.name, d.type, c.kind, c.value
        FROM @choices AS c
        INNER JOIN @declared AS d ON d.place = c.place
    )
    SELECT @values = CONCAT(N'[', STRING_AGG(CONCAT(
        CAST(N'{"name":"' AS NVARCHAR(MAX)), a.name, N'","type":"', a.type, N'","kind":', a.kind,
        N',"value":"' + STRING_ESCAPE(a.value, 'json') + N'"', N'}'
    ), N',') WITHIN GROUP (ORDER BY a.place, a.choice), N']')
    FROM all_values AS a;
    EXECUTE jobs_internal.check_values @values = @values, @fault = @fault OUTPUT;
    IF @fault IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @parameters: a default or a choice does not have the type: ', @fault, N'.'), N'%', N'%%');
        THROW 50062, @message, 1;
    END;

    UPDATE d
    SET d.choices = CONCAT(N'[', (
        SELECT STRING_AGG(
            CASE c.kind WHEN 1 THEN N'"' + STRING_ESCAPE(c.value, 'json') + N'"' ELSE c.value END, N','
        ) WITHIN GROUP (ORDER BY c.choice)
        FROM @choices AS c
        WHERE c.place = d.place
    ), N']')
    FROM @declared AS d
    WHERE d.choices IS NOT NULL;
    SELECT @stored = CONCAT(N'[', STRING_AGG(CONCAT(
        CAST(N'{"name":"' AS NVARCHAR(MAX)), d.name, N'","type":"', d.type, N'"',
        CASE WHEN d.required = 1 THEN N',"required":true' END,
        N',"default":' + CASE d.default_kind WHEN 1 THEN N'"' + STRING_ESCAPE(d.default_value, 'json') + N'"' ELSE d.default_value END,
        N',"choices":' + d.choices,
        N',"description":"' + STRING_ESCAPE(d.description, 'json') + N'"',
        N'}'
    ), N',') WITHIN GROUP (ORDER BY d.place), N']')
    FROM @declared AS d
    HAVING COUNT(*) > 0;
    RETURN 0;
END;
