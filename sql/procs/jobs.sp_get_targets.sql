-- Lists known databases (jobs.targets) that match a filter of tags, or that a target group has. With a filter, it shows what a member of
-- type Tag stands for now.
--
-- Parameters:
--   @tag_filter         Filter of tags, as in jobs.sp_add_target_group_member; NULL: all databases.
--   @target_group_name  Target group that had them in its last list of targets (jobs.target_group_targets); NULL: any, or none.
--   @gone               0: only databases that are not gone; 1: only those that are; NULL: both. With @target_group_name, gone from this
--                       group.
--   @name               Part of the name of the server or database, in which * stands for any characters and ? for one; NULL: any.
--   @after_server       Server of the last database of the page before; NULL: the first page.
--   @after_database     Name of that database.
--   @top                Maximum number of databases, 1 to 10,000.
--   @windows            1: with the windows of each database. NULL: without them.
--   @target_id          Only this database; NULL: all.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   The columns of jobs.targets, in the order of server and database, and windows: a JSON array of the names of the windows that
--            apply to the database (jobs.target_windows), of which all have to be open; NULL without @windows. They cost a look at each
--            window for each of the returned databases.
-- Throws:
--   50029 an argument is missing or out of range.
--   50097 a text is longer than its limit.
--   50106 the target group does not exist.
--   50452 the filter of tags is invalid.
CREATE OR ALTER PROCEDURE jobs.sp_get_targets
    @tag_filter        NVARCHAR(MAX) = NULL,
    @target_group_name NVARCHAR(129) = NULL,
    @gone              BIT = NULL,
    @name              NVARCHAR(401) = NULL,
    @after_server      NVARCHAR(257) = NULL,
    @after_database    NVARCHAR(129) = NULL,
    @top               INT = 1000,
    @windows           BIT = NULL,
    @target_id         UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @fault NVARCHAR(1000);
    DECLARE @matches NVARCHAR(MAX);
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @pattern NVARCHAR(MAX) = N'%' + REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
        @name, N'[', N'[[]'), N'%', N'[%]'), N'_', N'[_]'), N'*', N'%'), N'?', N'_') + N'%';
    DECLARE @with_gone BIT = CASE WHEN @gone = 0 AND @target_group_name IS NULL THEN 0 ELSE 1 END;
    DECLARE @found TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @page TABLE (place INT NOT NULL PRIMARY KEY, target_id UNIQUEIDENTIFIER NOT NULL);
    DECLARE @listed NVARCHAR(MAX);
    DECLARE @windows_found NVARCHAR(MAX);
    DECLARE @names TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, list NVARCHAR(MAX) NOT NULL);

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@name) > 800
        THROW 50097, N'Invalid @name: want at most 400 characters, not 401 or more.', 1;
    IF DATALENGTH(@after_server) > 512
        THROW 50097, N'Invalid @after_server: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@after_database) > 256
        THROW 50097, N'Invalid @after_database: want at most 128 characters, not 129 or more.', 1;
    IF @top IS NULL OR @top NOT BETWEEN 1 AND 10000
        THROW 50029, N'Invalid @top of sp_get_targets: want 1 to 10000.', 1;

    IF @target_group_name IS NOT NULL
    BEGIN
        SET @target_group_id = (SELECT g.target_group_id FROM jobs_internal.target_groups AS g WHERE g.name = @target_group_name);
        IF @target_group_id IS NULL
        BEGIN
            SET @message = REPLACE(CONCAT(
                N'The target group ''', @target_group_name, N''' does not exist. The view jobs.target_groups lists all target groups.'
            ), N'%', N'%%');
            THROW 50106, @message, 1;
        END;
        INSERT INTO @found (target_id)
        SELECT m.target_id
        FROM jobs_internal.group_targets AS m
        WHERE m.target_group_id = @target_group_id
            AND (@gone IS NULL OR @gone = CASE WHEN m.gone_at IS NULL THEN 0 ELSE 1 END); -- plan: the rows of a group
    END;
    IF @tag_filter IS NOT NULL
    BEGIN
        IF @target_group_id IS NOT NULL
            SET @matches = COALESCE((SELECT f.target_id FROM @found AS f FOR JSON PATH), N'[]');
        EXECUTE jobs_internal.match_tags
            @filter = @tag_filter,
            @targets = @matches,
            @with_gone = @with_gone,
            @matches = @matches OUTPUT,
            @fault = @fault OUTPUT;
        IF @fault IS NOT NULL
        BEGIN
            SET @message = REPLACE(CONCAT(N'Invalid @tag_filter: ', @fault), N'%', N'%%');
            THROW 50452, @message, 1;
        END;
        DELETE f
        FROM @found AS f;
        INSERT INTO @found (target_id)
        SELECT o.target_id
        FROM OPENJSON(@matches) WITH (target_id UNIQUEIDENTIFIER) AS o;
    END;

    -- Plan: a range of IX_targets_server_name from the last database on, without a sort, until there are @top that match; RECOMPILE leaves
    -- out the conditions of parameters that are NULL.
    INSERT INTO @page (place, target_id)
    SELECT TOP (@top)
        ROW_NUMBER() OVER (ORDER BY t.server_name, t.database_name, t.target_id),
        t.target_id
    FROM jobs_internal.targets AS t
    WHERE ((@target_group_name IS NULL AND @tag_filter IS NULL) OR t.target_id IN (SELECT f.target_id FROM @found AS f))
        AND (@target_group_name IS NOT NULL OR @gone IS NULL OR @gone = CASE WHEN t.gone_at IS NULL THEN 0 ELSE 1 END)
        AND (@target_id IS NULL OR t.target_id = @target_id)
        AND (
            @pattern IS NULL
            OR t.server_name COLLATE Latin1_General_100_CI_AS LIKE @pattern -- whatever the collation of the database
            OR t.database_name COLLATE Latin1_General_100_CI_AS LIKE @pattern
        )
        AND (
            @after_server IS NULL
            OR (t.server_name >= @after_server AND (t.server_name > @after_server OR t.database_name > @after_database))
        )
    ORDER BY t.server_name, t.database_name, t.target_id
    OPTION (RECOMPILE);
    IF @windows = 1 AND EXISTS (SELECT 1 FROM @page AS p)
    BEGIN
        SET @listed = (SELECT p.target_id FROM @page AS p FOR JSON PATH);
        EXECUTE jobs_internal.find_windows @targets = @listed, @found = @windows_found OUTPUT;
        INSERT INTO @names (target_id, list)
        SELECT
            o.target_id,
            STRING_AGG(
                CAST(CONCAT(N'"', STRING_ESCAPE(w.name, N'json'), N'"') AS NVARCHAR(MAX)),
                N','
            ) WITHIN GROUP (ORDER BY w.name)
        FROM OPENJSON(@windows_found) WITH (target_id UNIQUEIDENTIFIER, window_id BIGINT) AS o
        INNER JOIN jobs_internal.target_windows AS w ON w.window_id = o.window_id
        GROUP BY o.target_id;
    END;

    SELECT
        t.target_id,
        t.server_name,
        t.database_name,
        t.elastic_pool_name,
        t.first_seen_time,
        t.last_seen_time,
        t.is_gone,
        t.gone_time,
        t.tags,
        t.paused_time,
        t.pause_end_time,
        t.pause_reason,
        CASE WHEN @windows = 1 THEN CONCAT(N'[', n.list, N']') END AS windows
    FROM @page AS p
    INNER JOIN jobs.targets AS t ON t.target_id = p.target_id
    LEFT JOIN @names AS n ON n.target_id = p.target_id
    ORDER BY p.place
    OPTION (RECOMPILE);
    RETURN 0;
END;
