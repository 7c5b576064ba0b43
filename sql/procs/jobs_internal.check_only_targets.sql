-- Checks the databases to which a run is limited, and adds their names. For a start, each must fit a member of a target group of the
-- job's steps: whether a server has the database is known only when the group is resolved. For a rerun, each must be among the
-- targets of the origin, in a state that runs again.
--
-- Cost: (given targets), each with a seek in the history; for a start also with a comparison per member of the groups that stands for
-- several databases, so that no caller holds a lock then.
--
-- Parameters:
--   @job_id        The job. For a rerun, the caller has locked it.
--   @version       Its version that runs.
--   @only_targets  As in jobs.sp_start_job.
--   @origin_id     Key of the run that is run again; NULL: a start.
--   @only          The states of jobs.sp_rerun_job_execution, normalised; NULL for a start.
--   @is_repeated   1: the run exists, and its start is repeated: the targets are only read, because target groups may have
--                  changed since.
--   @complete      Receives what the column only_targets of job_executions holds, in the order of the ids.
--   @count         Receives the number of targets.
-- Called by: jobs.sp_start_job, before its transaction, and jobs.sp_rerun_job_execution, within its transaction.
-- Locks:     none.
-- Returns:   0.
-- Throws:
--   50162 a chosen target can be in no target group of the job, or is not among the targets to run again.
--   50401 @only_targets is not an array of 1 to 5,000 target ids.
CREATE OR ALTER PROCEDURE jobs_internal.check_only_targets
    @job_id       UNIQUEIDENTIFIER,
    @version      INT,
    @only_targets NVARCHAR(MAX),
    @origin_id    BIGINT = NULL,
    @only         NVARCHAR(200) = NULL,
    @is_repeated  BIT = 0,
    @complete     NVARCHAR(MAX) OUTPUT,
    @count        INT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @names NVARCHAR(MAX);
    DECLARE @wrong INT;
    DECLARE @unreached BIT = 0; -- 1: the rerun resolves target groups, so it may run on any target
    DECLARE @given TABLE (
        position      INT NOT NULL PRIMARY KEY,
        target_id     UNIQUEIDENTIFIER NULL,
        server_name   NVARCHAR(256) NULL,
        database_name NVARCHAR(128) NULL
    );
    DECLARE @chosen TABLE (
        target_id     UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        server_name   NVARCHAR(256) NULL,
        database_name NVARCHAR(128) NULL,
        server_key    NVARCHAR(256) NULL, -- as in @members
        database_key  NVARCHAR(128) NULL,
        fits          BIT NOT NULL DEFAULT 0
    );
    DECLARE @groups TABLE (target_group_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    -- Names of one server may differ in case, in the prefix tcp: and in the default port 1433 (targets.ServerKey).
    DECLARE @members TABLE (
        member_id       BIGINT NOT NULL PRIMARY KEY,
        target_group_id UNIQUEIDENTIFIER NOT NULL,
        is_excluded     BIT NOT NULL,
        target_type     NVARCHAR(128) NOT NULL,
        server_key      NVARCHAR(128) NULL, -- NULL: a member of type Tag
        database_key    NVARCHAR(128) NULL
    );
    -- Members that are one database.
    DECLARE @exact TABLE (
        server_key      NVARCHAR(128) NOT NULL,
        database_key    NVARCHAR(128) NOT NULL,
        target_group_id UNIQUEIDENTIFIER NOT NULL,
        is_excluded     BIT NOT NULL,
        PRIMARY KEY (server_key, database_key, target_group_id, is_excluded)
    );
    -- Members that stand for several databases.
    DECLARE @broad TABLE (
        member_id       BIGINT NOT NULL PRIMARY KEY,
        target_group_id UNIQUEIDENTIFIER NOT NULL,
        is_excluded     BIT NOT NULL,
        server_key      NVARCHAR(128) NULL, -- NULL: any, of a shard map or a filter of tags
        pattern         NVARCHAR(400) NOT NULL
    );

    IF NOT EXISTS (
        SELECT 1
        FROM OPENJSON(CONCAT(N'[', CASE WHEN ISJSON(@only_targets) = 1 THEN @only_targets END, N']')) AS o
        WHERE o.type = 4
    )
        THROW 50401, N'Invalid @only_targets: want a JSON array of target ids, such as ["6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68"].', 1;
    SET @count = (SELECT COUNT(*) FROM OPENJSON(@only_targets) AS o);
    IF @count NOT BETWEEN 1 AND 5000
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @only_targets: want 1 to 5000 target ids, not ', @count, N'. Omit it to run on all databases.'
        ), N'%', N'%%');
        THROW 50401, @message, 1;
    END;
    INSERT INTO @given (position, target_id, server_name, database_name)
    SELECT
        CAST(o.[key] AS INT),
        CASE WHEN LEN(COALESCE(w.target_id, o.value)) = 36 THEN TRY_CAST(COALESCE(w.target_id, o.value) AS UNIQUEIDENTIFIER) END,
        w.server_name,
        w.database_name
    FROM OPENJSON(@only_targets) AS o
    OUTER APPLY OPENJSON(CASE WHEN o.type = 5 THEN o.value END) WITH (
        target_id     NVARCHAR(40),
        server_name   NVARCHAR(256),
        database_name NVARCHAR(128)
    ) AS w;
    SELECT TOP (1) @wrong = g.position
    FROM @given AS g
    WHERE g.target_id IS NULL
    ORDER BY g.position;
    IF @wrong IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @only_targets: element ', @wrong + 1, N' is ',
            (SELECT LEFT(o.value, 200) FROM OPENJSON(@only_targets) AS o WHERE CAST(o.[key] AS INT) = @wrong),
            N': want the id of a target, as in the column target_id of jobs.job_executions.'
        ), N'%', N'%%');
        THROW 50401, @message, 1;
    END;

    INSERT INTO @chosen (target_id, server_name, database_name)
    SELECT g.target_id, MAX(g.server_name), MAX(g.database_name)
    FROM @given AS g
    GROUP BY g.target_id;
    SET @count = @@ROWCOUNT;
    IF @is_repeated = 1
    BEGIN
        SET @complete = (
            SELECT c.target_id
            FROM @chosen AS c
            ORDER BY c.target_id
            FOR JSON PATH
        );
        RETURN 0;
    END;
    -- What a run calls a database counts. Plan: per target one key of IX_target_executions_target_id with a lookup.
    UPDATE c
    SET c.server_name = t.server_name,
        c.database_name = t.database_name
    FROM @chosen AS c
    CROSS APPLY (
        SELECT TOP (1) t.server_name, t.database_name
        FROM jobs_internal.target_executions AS t
        WHERE t.target_id = c.target_id
            AND t.is_endpoint = 0
        ORDER BY t.job_id, t.execution_id
    ) AS t;

    IF @origin_id IS NULL
    BEGIN
        UPDATE c
        SET c.server_key = LOWER(c.server_name COLLATE Latin1_General_100_CI_AS),
            c.database_key = LOWER(c.database_name COLLATE Latin1_General_100_CI_AS)
        FROM @chosen AS c;
        UPDATE c
        SET c.server_key = STUFF(c.server_key, 1, 4, N'')
        FROM @chosen AS c
        WHERE c.server_key LIKE N'tcp:%';
        UPDATE c
        SET c.server_key = LEFT(c.server_key, LEN(c.server_key) - 5)
        FROM @chosen AS c
        WHERE c.server_key LIKE N'%,1433';
        INSERT INTO @groups (target_group_id)
        SELECT DISTINCT d.target_group_id
        FROM jobs_internal.job_steps AS d
        WHERE d.job_id = @job_id
            AND d.version = @version
            AND d.target_group_id <> '00000000-0000-0000-0000-000000000000';
        INSERT INTO @members (member_id, target_group_id, is_excluded, target_type, server_key, database_key)
        SELECT
            m.member_id,
            m.target_group_id,
            CASE WHEN m.membership_type = N'Exclude' THEN 1 ELSE 0 END,
            m.target_type,
            LOWER(m.server_name COLLATE Latin1_General_100_CI_AS),
            LOWER(m.database_name COLLATE Latin1_General_100_CI_AS)
        FROM @groups AS g
        INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = g.target_group_id
        WHERE m.membership_type <> N'Intersect';
        UPDATE m
        SET m.server_key = STUFF(m.server_key, 1, 4, N'')
        FROM @members AS m
        WHERE m.server_key LIKE N'tcp:%';
        UPDATE m
        SET m.server_key = LEFT(m.server_key, LEN(m.server_key) - 5)
        FROM @members AS m
        WHERE m.server_key LIKE N'%,1433';
        INSERT INTO @exact (server_key, database_key, target_group_id, is_excluded)
        SELECT DISTINCT m.server_key, m.database_key, m.target_group_id, m.is_excluded
        FROM @members AS m
        WHERE m.target_type = N'SqlDatabase'
            AND m.database_key NOT LIKE N'%[*?]%';
        -- Whether a database is in a pool or a shard map that is excluded is not known, and tags and the answers of queries may change
        -- until the group is resolved. So an Intersect does not count.
        INSERT INTO @broad (member_id, target_group_id, is_excluded, server_key, pattern)
        SELECT
            m.member_id,
            m.target_group_id,
            m.is_excluded,
            CASE WHEN m.target_type NOT IN (N'SqlShardMap', N'Tag', N'Query', N'TargetGroup') THEN m.server_key END,
            CASE
                WHEN m.target_type = N'SqlDatabase' THEN REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
                    m.database_key, N'[', N'[[]'), N'%', N'[%]'), N'_', N'[_]'), N'*', N'%'), N'?', N'_')
                ELSE N'%'
            END
        FROM @members AS m
        WHERE (m.target_type <> N'SqlDatabase' OR m.database_key LIKE N'%[*?]%')
            AND (m.is_excluded = 0 OR m.target_type IN (N'SqlServer', N'SqlDatabase'));
        -- plan: per target and group one key of @exact, and the rows of @broad, which are few
        UPDATE c
        SET c.fits = 1
        FROM @chosen AS c
        WHERE EXISTS (
            SELECT 1
            FROM @groups AS g
            WHERE (
                EXISTS (
                    SELECT 1
                    FROM @exact AS x
                    WHERE x.server_key = c.server_key
                        AND x.database_key = c.database_key
                        AND x.target_group_id = g.target_group_id
                        AND x.is_excluded = 0
                )
                OR EXISTS (
                    SELECT 1
                    FROM @broad AS b
                    WHERE b.target_group_id = g.target_group_id
                        AND b.is_excluded = 0
                        AND (b.server_key IS NULL OR b.server_key = c.server_key) -- plan: as above
                        AND c.database_key LIKE b.pattern
                )
            )
                AND NOT EXISTS (
                    SELECT 1
                    FROM @exact AS x
                    WHERE x.server_key = c.server_key
                        AND x.database_key = c.database_key
                        AND x.target_group_id = g.target_group_id
                        AND x.is_excluded = 1
                )
                AND NOT EXISTS (
                    SELECT 1
                    FROM @broad AS b
                    WHERE b.target_group_id = g.target_group_id
                        AND b.is_excluded = 1
                        AND b.server_key = c.server_key
                        AND c.database_key LIKE b.pattern
                )
        );
    END;
    ELSE
    BEGIN
        SET @unreached = CASE
            WHEN EXISTS (
                SELECT 1
                FROM jobs_internal.job_steps AS d
                WHERE d.job_id = @job_id
                    AND d.version = @version
                    AND NOT EXISTS (
                        SELECT 1
                        FROM jobs_internal.step_executions AS s
                        WHERE s.execution_id = @origin_id
                            AND s.step_id = d.step_id
                            AND s.resolved_at IS NOT NULL
                    )
            ) THEN 1
            ELSE 0
        END;
        -- plan: per target a few keys of IX_target_executions_target_id
        UPDATE c
        SET c.fits = 1
        FROM @chosen AS c
        WHERE EXISTS (
            SELECT 1
            FROM jobs_internal.target_executions AS t
            WHERE t.target_id = c.target_id
                AND t.job_id = @job_id
                AND t.execution_id = @origin_id
                AND t.is_endpoint = 0
                AND (
                    @unreached = 1
                    OR CASE WHEN t.outcome_unknown = 1 THEN N'Unknown' ELSE t.lifecycle END IN (
                        SELECT p.value FROM STRING_SPLIT(@only, N',') AS p
                    )
                )
        );
        -- Its target groups were perhaps not resolved.
        IF @unreached = 1
            UPDATE c
            SET c.fits = 1,
                c.server_name = o.server_name,
                c.database_name = o.database_name
            FROM @chosen AS c
            INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = @origin_id
            CROSS APPLY OPENJSON(e.only_targets) WITH (
                target_id     UNIQUEIDENTIFIER,
                server_name   NVARCHAR(256),
                database_name NVARCHAR(128)
            ) AS o
            WHERE o.target_id = c.target_id;
    END;

    SET @wrong = (SELECT COUNT(*) FROM @chosen AS c WHERE c.fits = 0 OR c.database_name IS NULL OR c.server_name IS NULL);
    IF @wrong > 0
    BEGIN
        WITH listed AS (
            SELECT TOP (10) COALESCE(c.server_name + N'/' + c.database_name, CAST(c.target_id AS NVARCHAR(36))) AS name
            FROM @chosen AS c
            WHERE c.fits = 0
                OR c.database_name IS NULL
                OR c.server_name IS NULL
            ORDER BY c.server_name, c.database_name, c.target_id
        )
        SELECT @names = STRING_AGG(CAST(l.name AS NVARCHAR(MAX)), N', ') WITHIN GROUP (ORDER BY l.name)
        FROM listed AS l;
        SET @message = REPLACE(LEFT(CONCAT(
            @wrong, N' of the ', @count, N' chosen targets ',
            CASE
                WHEN @origin_id IS NULL AND @wrong = 1 THEN N'matches no database: no target group of the job''s steps has it as a member'
                WHEN @origin_id IS NULL THEN N'match no database: no target group of the job''s steps has them as members'
                WHEN @wrong = 1 THEN N'is not among the targets to run again: it was not in the run, or did not end as '
                ELSE N'are not among the targets to run again: they were not in the run, or did not end as '
            END,
            CASE WHEN @origin_id IS NOT NULL THEN REPLACE(@only, N',', N' or ') END,
            N': ', @names, CASE WHEN @wrong > 10 THEN N', …' END, N'.'
        ), 2000), N'%', N'%%');
        THROW 50162, @message, 1;
    END;
    SET @complete = (
        SELECT c.target_id, c.server_name, c.database_name
        FROM @chosen AS c
        ORDER BY c.target_id
        FOR JSON PATH
    );
    RETURN 0;
END;
