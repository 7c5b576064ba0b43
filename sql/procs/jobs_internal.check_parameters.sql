-- Checks the parameters of a run or of a schedule.
--
-- Parameters:
--   @parameters  A JSON object of at most 102,400 characters. Its names differ in more than case; below it, the names of
--                an object differ. NULL or empty: none, which is accepted.
-- Called by: jobs.sp_start_job, jobs_internal.store_schedule, before their transactions.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50070 the parameters are not a JSON object.
--   50071 the parameters are too long.
--   50072 a name in the parameters is empty, too long, or has a control character.
--   50073 a name in the parameters is there twice.
CREATE OR ALTER PROCEDURE jobs_internal.check_parameters
    @parameters NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @level INT = 0;
    DECLARE @rows INT = 1;
    DECLARE @name NVARCHAR(4000);
    DECLARE @objects TABLE (
        id    INT NOT NULL IDENTITY(1, 1) PRIMARY KEY,
        level INT NOT NULL,
        type  INT NOT NULL, -- 4: an array, 5: an object
        value NVARCHAR(MAX) NOT NULL
    );
    DECLARE @names TABLE (
        id   INT NOT NULL, -- of the object
        name NVARCHAR(4000) NOT NULL
    );

    IF @parameters IS NULL OR LTRIM(@parameters) = N''
        RETURN 0;
    IF DATALENGTH(@parameters) > 204800
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @parameters: want at most 102400 characters, not ', DATALENGTH(@parameters) / 2, N'.'
        ), N'%', N'%%');
        THROW 50071, @message, 1;
    END;
    IF NOT EXISTS (SELECT 1 FROM OPENJSON(CONCAT(N'[', CASE WHEN ISJSON(@parameters) = 1 THEN @parameters END, N']')) AS o WHERE o.type = 5)
        THROW 50070, N'Invalid @parameters: want a JSON object, such as {"tenant": "contoso"}.', 1;

    -- One round for each level of the text: at most 128, by ISJSON.
    INSERT INTO @objects (level, type, value)
    VALUES (0, 5, @parameters);
    WHILE @rows > 0
    BEGIN
        INSERT INTO @names (id, name)
        SELECT o.id, m.[key]
        FROM @objects AS o
        CROSS APPLY OPENJSON(o.value) AS m
        WHERE o.level = @level
            AND o.type = 5;
        INSERT INTO @objects (level, type, value)
        SELECT @level + 1, m.type, m.value
        FROM @objects AS o
        CROSS APPLY OPENJSON(o.value) AS m
        WHERE o.level = @level
            AND m.type IN (4, 5);
        SET @rows = @@ROWCOUNT;
        SET @level = @level + 1;
    END;

    SELECT TOP (1) @name = n.name
    FROM @names AS n
    WHERE n.id = 1
        AND (
            n.name = N''
            OR DATALENGTH(n.name) > 256
            OR n.name COLLATE Latin1_General_100_BIN2 LIKE CONCAT(N'%[', NCHAR(1), N'-', NCHAR(31), N']%')
        );
    IF @name IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid name ''', LEFT(@name, 200), N''' in @parameters: want 1 to 128 characters, none of them a control character.'
        ), N'%', N'%%');
        THROW 50072, @message, 1;
    END;

    SELECT TOP (1) @name = MIN(n.name COLLATE Latin1_General_100_BIN2)
    FROM @names AS n
    GROUP BY n.id, n.name COLLATE Latin1_General_100_BIN2
    HAVING COUNT(*) > 1;
    IF @name IS NULL
        SELECT TOP (1) @name = MIN(n.name COLLATE Latin1_General_100_BIN2)
        FROM @names AS n
        WHERE n.id = 1
        GROUP BY n.name COLLATE Latin1_General_100_CI_AS
        HAVING COUNT(*) > 1;
    IF @name IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @parameters: the name ''', LEFT(@name, 200),
            N''' is there twice. The names of the outermost object must differ in more than case.'
        ), N'%', N'%%');
        THROW 50073, @message, 1;
    END;
    RETURN 0;
END;
