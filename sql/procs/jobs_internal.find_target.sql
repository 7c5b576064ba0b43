-- Finds one database by its names or its id. It need not be known, unless its id alone is given, or its names have characters beyond ASCII.
--
-- Parameters:
--   @server_name    Server of the database; NULL: of the id. Receives its name as it is known, or as it was given.
--   @database_name  Name of the database, likewise.
--   @target_id      Id of the database; NULL: of the names. Receives it.
-- Called by: jobs.sp_pause_target, jobs.sp_resume_target.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50198 the database is not known, and its id is not given.
--   50403 the server name has not the form host, host\instance or host,port.
--   50450 the arguments do not name a database, or not what to set.
CREATE OR ALTER PROCEDURE jobs_internal.find_target
    @server_name   NVARCHAR(257) = NULL OUTPUT,
    @database_name NVARCHAR(129) = NULL OUTPUT,
    @target_id     UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @names NVARCHAR(MAX);
    DECLARE @named NVARCHAR(MAX);
    DECLARE @named_id UNIQUEIDENTIFIER;
    DECLARE @known_server NVARCHAR(256);
    DECLARE @known_database NVARCHAR(128);

    IF DATALENGTH(@server_name) > 512
        THROW 50097, N'Invalid @server_name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@database_name) > 256
        THROW 50097, N'Invalid @database_name: want at most 128 characters, not 129 or more.', 1;
    SET @server_name = NULLIF(LTRIM(RTRIM(@server_name)), N'');
    SET @database_name = NULLIF(@database_name, N'');
    IF (@server_name IS NULL AND @database_name IS NOT NULL)
        OR (@server_name IS NOT NULL AND @database_name IS NULL)
        OR (@server_name IS NULL AND @target_id IS NULL)
        THROW 50450, N'Invalid arguments: want @server_name and @database_name, or @target_id.', 1;
    SET @names = (
        SELECT v.parameter, v.name, v.is_server
        FROM (VALUES
            (N'@server_name', @server_name, CAST(1 AS BIT)),
            (N'@database_name', @database_name, CAST(0 AS BIT))
        ) AS v (parameter, name, is_server)
        FOR JSON PATH
    );
    EXECUTE jobs_internal.check_external_names @names = @names;

    IF @server_name IS NOT NULL
    BEGIN
        SET @names = (SELECT 0 AS ordinal, @server_name AS server_name, @database_name AS database_name FOR JSON PATH);
        EXECUTE jobs_internal.name_targets @list = @names, @named = @named OUTPUT;
        SET @named_id = (SELECT o.target_id FROM OPENJSON(@named) WITH (target_id UNIQUEIDENTIFIER) AS o);
        IF @target_id <> @named_id
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'Invalid arguments: the id ', @target_id, N' is not that of ', @server_name, N'/', @database_name, N', which is ',
                @named_id, N'.'
            ), N'%', N'%%');
            THROW 50450, @message, 1;
        END;
        SET @target_id = COALESCE(@target_id, @named_id);
    END;
    SELECT
        @known_server = t.server_name,
        @known_database = t.database_name
    FROM jobs_internal.targets AS t
    WHERE t.target_id = @target_id;
    IF @known_server IS NULL AND (@server_name IS NULL OR @target_id IS NULL)
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The database ', COALESCE(@server_name + N'/' + @database_name, CAST(@target_id AS NVARCHAR(36))), N' is not known. ',
            CASE
                WHEN @server_name IS NULL THEN N'Give @server_name and @database_name, too.'
                ELSE N'Its name has characters beyond ASCII, so give @target_id, too, as jobagent target pause does.'
            END
        ), N'%', N'%%');
        THROW 50198, @message, 1;
    END;
    SET @server_name = COALESCE(@known_server, @server_name);
    SET @database_name = COALESCE(@known_database, @database_name);
    RETURN 0;
END;
