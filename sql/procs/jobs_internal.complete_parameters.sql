-- Checks the parameters of a run against those that its job declares, and adds what is not given: the default, or null. The
-- parameters of a job that declares none are left alone.
--
-- Parameters:
--   @job_id      The job; the caller has locked it.
--   @job_name    Its name, for the message; NULL: it is omitted.
--   @parameters  The parameters that are given: NULL or empty, or what jobs_internal.check_parameters has accepted.
--   @complete    Receives the parameters of the run.
--   @number      Receives the number of the error; NULL: nothing is wrong.
--   @fault       Receives a sentence that names what is wrong; NULL: nothing is wrong.
-- Called by: jobs_internal.require_parameters, jobs_internal.complete_schedules, jobs_internal.store_schedule.
-- Locks:     nothing beyond what the caller holds.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.complete_parameters
    @job_id     UNIQUEIDENTIFIER,
    @job_name   NVARCHAR(128),
    @parameters NVARCHAR(MAX),
    @complete   NVARCHAR(MAX) OUTPUT,
    @number     INT OUTPUT,
    @fault      NVARCHAR(2048) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @stored NVARCHAR(MAX);
    DECLARE @values NVARCHAR(MAX);
    DECLARE @list NVARCHAR(MAX);
    DECLARE @object NVARCHAR(200) = N'The job' + COALESCE(N' ''' + @job_name + N'''', N'');
    DECLARE @declared TABLE (
        place         INT NOT NULL PRIMARY KEY,
        name          NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        type          NVARCHAR(10) COLLATE Latin1_General_100_BIN2 NOT NULL,
        required      BIT NOT NULL,
        default_value NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
        choices       NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL
    );
    DECLARE @given TABLE (
        name  NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
        kind  INT NOT NULL, -- type of the value, as in OPENJSON
        value NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL
    );

    SET @number = NULL;
    SET @fault = NULL;
    SET @complete = CASE WHEN LTRIM(@parameters) = N'' THEN NULL ELSE @parameters END;
    SELECT @stored = j.parameters
    FROM jobs_internal.jobs AS j
    WHERE j.job_id = @job_id;
    IF @stored IS NULL
        RETURN 0;

    INSERT INTO @declared (place, name, type, required, default_value, choices)
    SELECT CAST(o.[key] AS INT), d.name, d.type, COALESCE(d.required, 0), d.default_value, d.choices
    FROM OPENJSON(@stored) AS o
    CROSS APPLY OPENJSON(o.value) WITH (
        name          NVARCHAR(128),
        type          NVARCHAR(10),
        required      BIT,
        default_value NVARCHAR(MAX) '$.default',
        choices       NVARCHAR(MAX) AS JSON
    ) AS d;
    INSERT INTO @given (name, kind, value)
    SELECT m.[key], m.type, m.value
    FROM OPENJSON(COALESCE(@complete, N'{}')) AS m;

    SELECT TOP (1) @list = g.name
    FROM @given AS g
    WHERE NOT EXISTS (SELECT 1 FROM @declared AS d WHERE d.name = g.name)
    ORDER BY g.name;
    IF @list IS NOT NULL
    BEGIN
        SET @number = 50160;
        SET @fault = CONCAT(
            @object, N' declares no parameter ''', @list, N'''. Its parameters are: ',
            (SELECT LEFT(STRING_AGG(CAST(d.name AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY d.place), 1500) FROM @declared AS d),
            N' (names are compared exactly).'
        );
    END;

    IF @number IS NULL
    BEGIN
        SELECT @list = STRING_AGG(CAST(d.name AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY d.place)
        FROM @declared AS d
        WHERE d.required = 1
            AND NOT EXISTS (SELECT 1 FROM @given AS g WHERE g.name = d.name);
        IF @list IS NOT NULL
        BEGIN
            SET @number = 50159;
            SET @fault = CONCAT(@object, N' requires parameters that are not given: ', LEFT(@list, 1500), N'.');
        END;
    END;

    IF @number IS NULL
    BEGIN
        -- null is what a parameter without a default has when it is not given.
        SELECT @values = CONCAT(N'[', STRING_AGG(CONCAT(
            CAST(N'{"name":"' AS NVARCHAR(MAX)), d.name, N'","type":"', d.type, N'","kind":', g.kind,
            N',"value":"' + STRING_ESCAPE(g.value, 'json') + N'"', N'}'
        ), N',') WITHIN GROUP (ORDER BY d.place), N']')
        FROM @given AS g
        INNER JOIN @declared AS d ON d.name = g.name
        WHERE g.kind <> 0
            OR d.required = 1
            OR d.default_value IS NOT NULL;
        EXECUTE jobs_internal.check_values @values = @values, @fault = @list OUTPUT;
        IF @list IS NULL
            SELECT TOP (1) @list = CONCAT(
                N'the parameter ''', d.name, N''' is one of ', LEFT(d.choices, 1000), N', not ', LEFT(g.value, 100)
            )
            FROM @given AS g
            INNER JOIN @declared AS d ON d.name = g.name
            WHERE d.choices IS NOT NULL
                AND g.kind <> 0
                AND NOT EXISTS (
                    SELECT 1
                    FROM OPENJSON(d.choices) AS c
                    WHERE c.type = g.kind
                        AND CAST(c.value AS VARBINARY(MAX)) = CAST(g.value AS VARBINARY(MAX))
                )
            ORDER BY d.place;
        IF @list IS NOT NULL
        BEGIN
            SET @number = 50069;
            SET @fault = CONCAT(N'Invalid value: ', @list, N'.');
        END;
    END;

    IF @number IS NULL
    BEGIN
        SELECT @list = STRING_AGG(CONCAT(
            CAST(N'"' AS NVARCHAR(MAX)), d.name, N'": ', CASE
                WHEN d.default_value IS NULL THEN N'null'
                WHEN d.type IN (N'integer', N'number', N'boolean') THEN d.default_value
                ELSE N'"' + STRING_ESCAPE(d.default_value, 'json') + N'"'
            END
        ), N', ') WITHIN GROUP (ORDER BY d.place)
        FROM @declared AS d
        WHERE NOT EXISTS (SELECT 1 FROM @given AS g WHERE g.name = d.name);
        IF @list IS NOT NULL
        BEGIN
            -- The object ends with its last bracket. The collation makes all three functions count code units: a variable has that of
            -- the database, by which LEFT may count characters.
            SET @complete = COALESCE(@complete, N'{}');
            SET @complete = CONCAT(
                LEFT(
                    @complete COLLATE Latin1_General_100_BIN2,
                    DATALENGTH(@complete) / 2 - CHARINDEX(N'}', REVERSE(@complete COLLATE Latin1_General_100_BIN2))
                ),
                CASE WHEN EXISTS (SELECT 1 FROM @given) THEN N', ' END, @list, N'}'
            );
        END;
        IF DATALENGTH(@complete) > 204800
        BEGIN
            SET @number = 50071;
            SET @fault = N'Invalid @parameters: with the defaults of the job, they have more than 102400 characters.';
        END;
    END;

    RETURN 0;
END;
