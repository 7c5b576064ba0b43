-- Sets and removes tags of databases. A database that no run has had yet may have tags, too; it is then known, and members of type Tag find
-- it. When its last tag is removed before a list of targets had it, it is forgotten.
--
-- Servers and databases are named as in target groups. A name with characters beyond ASCII, of a database that is not known, needs its id:
-- jobagent computes it.
--
-- Parameters:
--   @server_name    Server of the database; NULL: @target_id or @list is given.
--   @database_name  Name of the database; NULL likewise.
--   @tags           JSON object: names of tags with texts, numbers or booleans of at most 256 characters, such as
--                   {"tier": "gold", "region": null}. null removes the tag. A name has at most 128 characters: letters, digits, _, - and .
--   @replace        1: tags that are not in @tags are removed; 0: they stay.
--   @target_id      Id of the database, as in jobs.targets; NULL: of the names.
--   @list           JSON array of 1 to 5,000 objects, instead of the arguments above: server_name, database_name, target_id and tags, as
--                   above, such as a query on a catalog makes with FOR JSON PATH.
--   @changed        Receives the number of databases whose tags have changed.
-- Called by: members of the role jobs_author.
-- Locks:     the rows of the databases in targets (U, X), their tags (X), the row of window_state (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50198 the database is not known, and its id is not given.
--   50403 the server name has not the form host, host\instance or host,port.
--   50450 the arguments do not name a database, or not what to set.
--   50451 a name or value of a tag is invalid, or a database has too many.
CREATE OR ALTER PROCEDURE jobs.sp_set_target_tags
    @server_name   NVARCHAR(257) = NULL,
    @database_name NVARCHAR(129) = NULL,
    @tags          NVARCHAR(MAX) = NULL,
    @replace       BIT = 0,
    @target_id     UNIQUEIDENTIFIER = NULL,
    @list          NVARCHAR(MAX) = NULL,
    @changed       INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @number INT;
    DECLARE @revision BIGINT;
    DECLARE @is_list BIT = CASE WHEN @list IS NULL THEN 0 ELSE 1 END;
    DECLARE @count INT;
    DECLARE @names NVARCHAR(MAX);
    DECLARE @named NVARCHAR(MAX);
    DECLARE @object_name NVARCHAR(300);
    DECLARE @object_id NVARCHAR(100);
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @given TABLE (
        ordinal       INT NOT NULL PRIMARY KEY, -- from 0
        target_id     UNIQUEIDENTIFIER NULL,
        id_text       NVARCHAR(MAX) NULL,
        server_name   NVARCHAR(257) NULL,
        database_name NVARCHAR(129) NULL,
        server_key    NVARCHAR(257) COLLATE Latin1_General_100_BIN2 NULL,
        database_key  NVARCHAR(129) COLLATE Latin1_General_100_BIN2 NULL,
        named_id      UNIQUEIDENTIFIER NULL,
        tags          NVARCHAR(MAX) NULL
    );
    DECLARE @wanted TABLE (
        target_id UNIQUEIDENTIFIER NOT NULL,
        name      NVARCHAR(128) NOT NULL,
        value     NVARCHAR(256) NULL, -- NULL: it is removed
        PRIMARY KEY (target_id, name)
    );
    DECLARE @targets TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, ordinal INT NOT NULL);
    DECLARE @locked TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, first_seen_at DATETIME2(7) NULL);
    DECLARE @old TABLE (
        target_id UNIQUEIDENTIFIER NOT NULL,
        name      NVARCHAR(128) NOT NULL,
        value     NVARCHAR(256) NOT NULL,
        PRIMARY KEY (target_id, name)
    );
    DECLARE @removed TABLE (target_id UNIQUEIDENTIFIER NOT NULL, name NVARCHAR(128) NOT NULL, PRIMARY KEY (target_id, name));
    DECLARE @written TABLE (
        target_id UNIQUEIDENTIFIER NOT NULL,
        name      NVARCHAR(128) NOT NULL,
        value     NVARCHAR(256) NOT NULL,
        PRIMARY KEY (target_id, name)
    );
    DECLARE @differing TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @emptied TABLE (target_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);

    SET @changed = 0;
    SET @replace = COALESCE(@replace, 0);
    IF DATALENGTH(@server_name) > 512
        THROW 50097, N'Invalid @server_name: want at most 256 characters, not 257 or more.', 1;
    IF DATALENGTH(@database_name) > 256
        THROW 50097, N'Invalid @database_name: want at most 128 characters, not 129 or more.', 1;

    IF @is_list = 1 AND (@server_name IS NOT NULL OR @database_name IS NOT NULL OR @tags IS NOT NULL OR @target_id IS NOT NULL)
        THROW 50450, N'Invalid arguments: want either @list, or one database with its @tags.', 1;
    IF @is_list = 0
    BEGIN
        IF NOT EXISTS (SELECT 1 FROM OPENJSON(CONCAT(N'[', CASE WHEN ISJSON(@tags) = 1 THEN @tags END, N']')) AS o WHERE o.type = 5)
            THROW 50450, N'Invalid @tags: want a JSON object of texts, such as {"tier": "gold"}. null in place of a text removes a tag.', 1;
        SET @list = (
            SELECT
                @target_id AS target_id,
                @server_name AS server_name,
                @database_name AS database_name,
                JSON_QUERY(@tags) AS tags
            FOR JSON PATH
        );
    END;
    IF NOT EXISTS (SELECT 1 FROM OPENJSON(CONCAT(N'[', CASE WHEN ISJSON(@list) = 1 THEN @list END, N']')) AS o WHERE o.type = 4)
        OR EXISTS (SELECT 1 FROM OPENJSON(CASE WHEN ISJSON(@list) = 1 THEN @list ELSE N'[]' END) AS o WHERE o.type <> 5)
        THROW 50450, N'Invalid @list: want a JSON array of objects with server_name, database_name and tags.', 1;
    SET @count = (SELECT COUNT(*) FROM OPENJSON(@list) AS o);
    IF @count NOT BETWEEN 1 AND 5000
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @list: want 1 to 5000 databases, not ', @count, N'. Make several calls.'), N'%', N'%%');
        THROW 50450, @message, 1;
    END;

    INSERT INTO @given (ordinal, id_text, target_id, server_name, database_name, tags)
    SELECT
        CONVERT(INT, o.[key]),
        w.target_id,
        CASE WHEN LEN(w.target_id) = 36 THEN TRY_CAST(w.target_id AS UNIQUEIDENTIFIER) END,
        NULLIF(LTRIM(RTRIM(LEFT(w.server_name, 257))), N''),
        NULLIF(LEFT(w.database_name, 129), N''),
        w.tags
    FROM OPENJSON(@list) AS o
    CROSS APPLY OPENJSON(o.value) WITH (
        target_id     NVARCHAR(MAX),
        server_name   NVARCHAR(MAX),
        database_name NVARCHAR(MAX),
        tags          NVARCHAR(MAX) AS JSON
    ) AS w;
    SET @names = (
        SELECT g.ordinal, g.server_name, g.database_name
        FROM @given AS g
        FOR JSON PATH
    );
    EXECUTE jobs_internal.name_targets @list = @names, @named = @named OUTPUT;
    UPDATE g
    SET g.server_key = o.server_key,
        g.database_key = o.database_key,
        g.named_id = o.target_id
    FROM @given AS g
    INNER JOIN OPENJSON(@named) WITH (
        ordinal      INT,
        server_key   NVARCHAR(257),
        database_key NVARCHAR(129),
        target_id    UNIQUEIDENTIFIER
    ) AS o ON o.ordinal = g.ordinal;

    -- The first database that is wrong, with its first fault.
    SELECT TOP (1)
        @number = f.number,
        @message = REPLACE(CONCAT(
            N'Invalid ',
            CASE WHEN @is_list = 1 THEN CONCAT(N'element ', g.ordinal + 1, N' of @list') ELSE N'arguments' END, N': ',
            CASE f.fault
                WHEN 1 THEN N'the name of the server is longer than 256 characters, or that of the database than 128.'
                WHEN 2 THEN CONCAT(N'invalid target_id ''', LEFT(g.id_text, 100), N''': want a GUID.')
                WHEN 3 THEN N'want @server_name and @database_name, or @target_id.'
                WHEN 4 THEN N'want tags as a JSON object of texts, such as {"tier": "gold"}.'
                WHEN 5 THEN CONCAT(
                    N'the name of the database ''', g.database_name, N''' has * or ?, which members of target groups take for a pattern.'
                )
                WHEN 6 THEN CONCAT(
                    N'the id ', g.target_id, N' is not that of ', g.server_name, N'/', g.database_name, N', which is ', g.named_id, N'.'
                )
            END
        ), N'%', N'%%')
    FROM @given AS g
    CROSS APPLY (
        SELECT CASE
            WHEN DATALENGTH(g.server_name) > 512 OR DATALENGTH(g.database_name) > 256 THEN 1
            WHEN g.id_text IS NOT NULL AND g.target_id IS NULL THEN 2
            WHEN (g.server_name IS NULL AND g.database_name IS NOT NULL)
                OR (g.server_name IS NOT NULL AND g.database_name IS NULL)
                OR (g.server_name IS NULL AND g.target_id IS NULL) THEN 3
            WHEN g.tags IS NULL OR g.tags NOT LIKE N'{%' THEN 4
            WHEN g.database_name LIKE N'%[*?]%' THEN 5
            WHEN g.target_id <> g.named_id THEN 6
        END AS fault
    ) AS c
    CROSS APPLY (SELECT c.fault, CASE WHEN c.fault = 1 THEN 50097 ELSE 50450 END AS number) AS f
    WHERE f.fault IS NOT NULL
    ORDER BY g.ordinal;
    IF @number = 50097
        THROW 50097, @message, 1;
    IF @number = 50450
        THROW 50450, @message, 1;
    SET @names = (
        SELECT v.parameter, v.name, v.is_server
        FROM @given AS g
        CROSS APPLY (VALUES
            (N'@server_name', g.server_name, CAST(1 AS BIT)),
            (N'@database_name', g.database_name, CAST(0 AS BIT))
        ) AS v (parameter, name, is_server)
        WHERE v.name COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9._-]%' -- all other names are valid
        FOR JSON PATH
    );
    EXECUTE jobs_internal.check_external_names @names = @names;
    UPDATE g
    SET g.target_id = g.named_id
    FROM @given AS g
    WHERE g.target_id IS NULL;

    -- The first tag that is wrong.
    SELECT TOP (1)
        @number = 50451,
        @message = REPLACE(CONCAT(
            N'Invalid tag ''', LEFT(o.[key] COLLATE DATABASE_DEFAULT, 200), N''' of ',
            COALESCE(g.server_name + N'/' + g.database_name, CAST(g.target_id AS NVARCHAR(36))), N': ',
            CASE f.fault
                WHEN 1 THEN N'want a name of 1 to 128 characters: letters, digits, _, - and . of ASCII.'
                WHEN 2 THEN N'want a text, a number, true, false or null as its value.'
                ELSE N'want a value of at most 256 characters.'
            END
        ), N'%', N'%%')
    FROM @given AS g
    CROSS APPLY OPENJSON(g.tags) AS o
    CROSS APPLY (
        SELECT CASE
            WHEN o.[key] = N'' OR DATALENGTH(o.[key]) > 256 OR o.[key] COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9_.-]%' THEN 1
            WHEN o.type NOT IN (0, 1, 2, 3) THEN 2
            WHEN DATALENGTH(o.value) > 512 THEN 3
        END AS fault
    ) AS f
    WHERE f.fault IS NOT NULL
    ORDER BY g.ordinal;
    IF @number IS NULL
        SELECT TOP (1)
            @number = 50451,
            @message = REPLACE(CONCAT(
                N'Invalid tags of ', MAX(COALESCE(g.server_name + N'/' + g.database_name, CAST(g.target_id AS NVARCHAR(36)))),
                N': ''', MIN(n.name), N''' is there twice.'
            ), N'%', N'%%')
        FROM @given AS g
        CROSS APPLY OPENJSON(g.tags) AS o
        CROSS APPLY (SELECT CAST(o.[key] COLLATE DATABASE_DEFAULT AS NVARCHAR(128)) AS name) AS n
        GROUP BY COALESCE(CAST(g.target_id AS NVARCHAR(36)), CAST(g.ordinal AS NVARCHAR(36))), n.name
        HAVING COUNT(*) > 1
        ORDER BY MIN(g.ordinal);
    IF @number IS NOT NULL
        THROW 50451, @message, 1;
    IF (SELECT COUNT(*) FROM @given AS g CROSS APPLY OPENJSON(g.tags) AS o) > 50000
        THROW 50451, N'Invalid @list: want at most 50000 tags in a call. Make several calls.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    -- Several elements may name one database.
    INSERT INTO @targets (target_id, ordinal)
    SELECT g.target_id, MIN(g.ordinal)
    FROM @given AS g
    WHERE g.target_id IS NOT NULL
    GROUP BY g.target_id;
    -- first_seen_at is in no index, so that the locks are on the clustered keys. While a call waits for one of them, another session may
    -- register a database that the call has not found. A lock on the gap would be a deadlock with that session, so the call looks again.
    SET @count = 1;
    WHILE @count > 0 AND (SELECT COUNT(*) FROM @locked AS l) < (SELECT COUNT(*) FROM @targets AS w)
    BEGIN
        INSERT INTO @locked (target_id, first_seen_at)
        SELECT t.target_id, t.first_seen_at
        FROM @targets AS w
        INNER LOOP JOIN jobs_internal.targets AS t WITH (UPDLOCK, ROWLOCK) ON t.target_id = w.target_id
        WHERE w.target_id NOT IN (SELECT l.target_id FROM @locked AS l);
        SET @count = @@ROWCOUNT;
    END;
    SELECT TOP (1) @message = REPLACE(CONCAT(
        N'The database ', COALESCE(g.server_name + N'/' + g.database_name, CAST(g.target_id AS NVARCHAR(36))), N' is not known. ',
        CASE
            WHEN g.server_name IS NULL THEN N'Give @server_name and @database_name, too.'
            ELSE N'Its name has characters beyond ASCII, so give @target_id, too: jobagent target tag does it.'
        END
    ), N'%', N'%%')
    FROM @given AS g
    WHERE g.target_id IS NULL
        OR (g.server_name IS NULL AND NOT EXISTS (SELECT 1 FROM @locked AS l WHERE l.target_id = g.target_id))
    ORDER BY g.ordinal;
    IF @message IS NOT NULL
        THROW 50198, @message, 1;
    INSERT INTO jobs_internal.targets (target_id, server_name, database_name, server_key, database_key)
    SELECT w.target_id, g.server_name, g.database_name, g.server_key, g.database_key
    FROM @targets AS w
    INNER JOIN @given AS g ON g.ordinal = w.ordinal
    WHERE w.target_id NOT IN (SELECT l.target_id FROM @locked AS l)
    ORDER BY w.target_id;

    INSERT INTO @wanted (target_id, name, value)
    SELECT g.target_id, CAST(o.[key] COLLATE DATABASE_DEFAULT AS NVARCHAR(128)), o.value
    FROM @given AS g
    CROSS APPLY OPENJSON(g.tags) AS o;
    INSERT INTO @old (target_id, name, value)
    SELECT g.target_id, g.name, g.value
    FROM @targets AS w
    INNER LOOP JOIN jobs_internal.target_tags AS g ON g.target_id = w.target_id;
    INSERT INTO @removed (target_id, name)
    SELECT o.target_id, o.name
    FROM @old AS o
    LEFT JOIN @wanted AS w ON w.target_id = o.target_id AND w.name = o.name
    WHERE (w.target_id IS NOT NULL AND w.value IS NULL)
        OR (w.target_id IS NULL AND @replace = 1);
    INSERT INTO @written (target_id, name, value)
    SELECT w.target_id, w.name, w.value
    FROM @wanted AS w
    LEFT JOIN @old AS o ON o.target_id = w.target_id AND o.name = w.name
    WHERE w.value IS NOT NULL
        AND (
            o.target_id IS NULL
            -- exactly: another case, or a blank at the end, is another value
            OR CAST(o.value AS VARBINARY(512)) <> CAST(w.value AS VARBINARY(512))
        );
    INSERT INTO @differing (target_id)
    SELECT r.target_id
    FROM @removed AS r
    UNION
    SELECT w.target_id
    FROM @written AS w;
    SET @changed = @@ROWCOUNT;

    DELETE g
    FROM @removed AS r
    INNER LOOP JOIN jobs_internal.target_tags AS g ON g.target_id = r.target_id AND g.name = r.name;
    UPDATE g
    SET g.name = w.name,
        g.value = w.value
    FROM @written AS w
    INNER LOOP JOIN jobs_internal.target_tags AS g ON g.target_id = w.target_id AND g.name = w.name;
    INSERT INTO jobs_internal.target_tags (target_id, name, value)
    SELECT w.target_id, w.name, w.value
    FROM @written AS w
    WHERE NOT EXISTS (SELECT 1 FROM @old AS o WHERE o.target_id = w.target_id AND o.name = w.name);
    SELECT TOP (1) @message = REPLACE(CONCAT(
        N'Invalid tags of ', t.server_name, N'/', t.database_name, N': it would have ', c.tags, N' tags, and may have at most 50.'
    ), N'%', N'%%')
    FROM @differing AS d
    INNER JOIN jobs_internal.targets AS t ON t.target_id = d.target_id
    CROSS APPLY (SELECT COUNT(*) AS tags FROM jobs_internal.target_tags AS g WHERE g.target_id = d.target_id) AS c
    WHERE c.tags > 50
    ORDER BY t.server_name, t.database_name;
    IF @message IS NOT NULL
        THROW 50451, @message, 1;

    -- A database that no list ever had, and that has no tags, is not known.
    INSERT INTO @emptied (target_id)
    SELECT w.target_id
    FROM @targets AS w
    INNER JOIN jobs_internal.targets AS t ON t.target_id = w.target_id
    WHERE t.first_seen_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.target_tags AS g WHERE g.target_id = w.target_id);

    IF @changed > 0
    BEGIN
        SELECT
            @object_name = CASE
                WHEN @changed = 1 THEN LEFT(MAX(CONCAT(t.server_name, N'/', t.database_name)), 300)
                ELSE CONCAT(@changed, N' databases')
            END,
            @object_id = CASE WHEN @changed = 1 THEN MAX(CAST(t.target_id AS NVARCHAR(36))) END
        FROM @differing AS d
        INNER JOIN jobs_internal.targets AS t ON t.target_id = d.target_id;
        SET @before = (
            SELECT JSON_QUERY((
                SELECT t.server_name, t.database_name, o.name, o.value
                FROM @differing AS d
                INNER JOIN jobs_internal.targets AS t ON t.target_id = d.target_id
                INNER JOIN @old AS o ON o.target_id = d.target_id
                ORDER BY t.server_name, t.database_name, t.target_id, o.name
                FOR JSON PATH
            )) AS tags
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
        SET @after = (
            SELECT JSON_QUERY((
                SELECT t.server_name, t.database_name, g.name, g.value
                FROM @differing AS d
                INNER JOIN jobs_internal.targets AS t ON t.target_id = d.target_id
                INNER JOIN jobs_internal.target_tags AS g ON g.target_id = d.target_id
                ORDER BY t.server_name, t.database_name, t.target_id, g.name
                FOR JSON PATH
            )) AS tags
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
        );
        SET @before = NULLIF(@before, N'{}'); -- there were no tags
        SET @after = NULLIF(@after, N'{}');
    END;
    DELETE t
    FROM @emptied AS e
    INNER LOOP JOIN jobs_internal.targets AS t ON t.target_id = e.target_id;
    -- What windows a database has may depend on its tags. The row is locked before the windows are read: a session that adds the first such
    -- window writes it, too, so that one of the two sees what the other has done.
    IF @changed > 0
        SELECT @revision = v.revision
        FROM jobs_internal.window_state AS v WITH (UPDLOCK, ROWLOCK)
        WHERE v.id = 1;
    IF @changed > 0 AND EXISTS (SELECT 1 FROM jobs_internal.target_windows AS w WHERE w.tag_filter IS NOT NULL OR w.zone_tag <> N'')
        UPDATE v
        SET v.revision = @revision + 1,
            v.changed_at = @now
        FROM jobs_internal.window_state AS v
        WHERE v.id = 1;
    IF @changed > 0
        EXECUTE jobs_internal.audit
            @action = N'sp_set_target_tags',
            @object_kind = N'Target',
            @object_name = @object_name,
            @object_id = @object_id,
            @before = @before,
            @after = @after,
            @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
