-- Creates a target group with members, or replaces the members of an existing one. Members that stay the same, in all their fields, keep
-- their target_id.
--
-- Parameters:
--   @target_group_name  Name; an existing group keeps its spelling.
--   @members            JSON array of objects with the members membership_type, target_type, refresh_credential_name, server_name,
--                       database_name, elastic_pool_name, shard_map_name, tag_filter, query and member_group_name, as in
--                       jobs.sp_add_target_group_member. NULL: no members. The view jobs.target_group_member_details shows them in this
--                       order.
--   @if_match           The group's revision must be this one; 0: it must not exist; -1: it must exist; NULL: either.
--   @target_group_id    Receives its id.
--   @created            Receives 1 if the group is new.
--   @revision           Receives its revision.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in target_groups (U), the target group's row (U, X), its members (X).
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50022 the membership type is not Include, Exclude or Intersect.
--   50023 the target type is invalid.
--   50024 a name that the target type needs is missing.
--   50025 a name is given that the target type does not use.
--   50078 a member is there twice.
--   50079 the members are not a JSON array of objects.
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50106 the target group does not exist: one that is to be a member.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
--   50403 the server name has not the form host, host\instance or host,port.
--   50452 the filter of tags is invalid.
--   50480 the target group would be a member of itself.
CREATE OR ALTER PROCEDURE jobs.sp_set_target_group
    @target_group_name NVARCHAR(129),
    @members           NVARCHAR(MAX) = NULL,
    @if_match          BIGINT = NULL,
    @target_group_id   UNIQUEIDENTIFIER = NULL OUTPUT,
    @created           BIT = NULL OUTPUT,
    @revision          BIGINT = NULL OUTPUT
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
    DECLARE @before NVARCHAR(MAX);
    DECLARE @after NVARCHAR(MAX);
    DECLARE @before_revision BIGINT;
    DECLARE @names NVARCHAR(MAX);
    DECLARE @stored_name NVARCHAR(128);
    DECLARE @ordinal INT;
    DECLARE @filter NVARCHAR(MAX);
    DECLARE @fault NVARCHAR(1000);
    DECLARE @object NVARCHAR(400) = CONCAT(N'The target group ''', @target_group_name, N'''');
    -- Names are compared exactly: a member whose spelling changes is another one.
    DECLARE @wanted TABLE (
        ordinal                 INT NOT NULL PRIMARY KEY,
        target_id               UNIQUEIDENTIFIER NULL,
        membership_type         NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        target_type             NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        refresh_credential_name NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        server_name             NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        database_name           NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        elastic_pool_name       NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        shard_map_name          NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        tag_filter              NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        query                   NVARCHAR(MAX) COLLATE Latin1_General_BIN2 NULL,
        member_group_name       NVARCHAR(129) COLLATE Latin1_General_BIN2 NULL,
        member_group_id         UNIQUEIDENTIFIER NULL,
        tag_fault               NVARCHAR(1000) NULL
    );
    DECLARE @stored TABLE (
        ordinal                 INT NOT NULL PRIMARY KEY,
        target_id               UNIQUEIDENTIFIER NOT NULL,
        membership_type         NVARCHAR(128) COLLATE Latin1_General_BIN2 NOT NULL,
        target_type             NVARCHAR(128) COLLATE Latin1_General_BIN2 NOT NULL,
        refresh_credential_name NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        server_name             NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        database_name           NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        elastic_pool_name       NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        shard_map_name          NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        tag_filter              NVARCHAR(4000) COLLATE Latin1_General_BIN2 NULL,
        query                   NVARCHAR(4000) COLLATE Latin1_General_BIN2 NULL,
        member_group_id         UNIQUEIDENTIFIER NULL
    );

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;

    IF @target_group_name IS NULL OR LTRIM(@target_group_name) = N''
        THROW 50012, N'Missing target group name: @target_group_name is NULL or empty.', 1;
    SET @members = COALESCE(@members, N'[]');
    IF ISJSON(@members) = 0 OR LEFT(LTRIM(@members), 1) <> N'['
        THROW 50079, N'Invalid @members: want a JSON array of objects.', 1;
    IF EXISTS (SELECT 1 FROM OPENJSON(@members) AS o WHERE o.type <> 5)
        THROW 50079, N'Invalid @members: want a JSON array of objects.', 1;

    -- 129 characters, as in parameters: one more than allowed, and never cut to a name that is.
    INSERT INTO @wanted (
        ordinal, membership_type, target_type, refresh_credential_name, server_name, database_name, elastic_pool_name, shard_map_name,
        tag_filter, query, member_group_name
    )
    SELECT
        CONVERT(INT, o.[key]) + 1,
        CASE COALESCE(m.membership_type, N'Include') COLLATE Latin1_General_100_CI_AS
            WHEN N'include' THEN N'Include'
            WHEN N'exclude' THEN N'Exclude'
            WHEN N'intersect' THEN N'Intersect'
            ELSE LEFT(m.membership_type, 129)
        END,
        CASE m.target_type COLLATE Latin1_General_100_CI_AS
            WHEN N'sqlserver' THEN N'SqlServer'
            WHEN N'sqlelasticpool' THEN N'SqlElasticPool'
            WHEN N'sqldatabase' THEN N'SqlDatabase'
            WHEN N'sqlshardmap' THEN N'SqlShardMap'
            WHEN N'tag' THEN N'Tag'
            WHEN N'query' THEN N'Query'
            WHEN N'targetgroup' THEN N'TargetGroup'
            ELSE LEFT(m.target_type, 129)
        END,
        NULLIF(LEFT(m.refresh_credential_name, 129), N''),
        NULLIF(LEFT(LTRIM(RTRIM(m.server_name)), 129), N''),
        NULLIF(LEFT(m.database_name, 129), N''),
        NULLIF(LEFT(m.elastic_pool_name, 129), N''),
        NULLIF(LEFT(m.shard_map_name, 129), N''),
        NULLIF(LTRIM(RTRIM(m.tag_filter)), N''),
        NULLIF(LTRIM(RTRIM(m.query)), N''),
        NULLIF(LEFT(m.member_group_name, 129), N'')
    FROM OPENJSON(@members) AS o
    CROSS APPLY OPENJSON(o.value) WITH (
        membership_type         NVARCHAR(MAX),
        target_type             NVARCHAR(MAX),
        refresh_credential_name NVARCHAR(MAX),
        server_name             NVARCHAR(MAX),
        database_name           NVARCHAR(MAX),
        elastic_pool_name       NVARCHAR(MAX),
        shard_map_name          NVARCHAR(MAX),
        tag_filter              NVARCHAR(MAX),
        query                   NVARCHAR(MAX),
        member_group_name       NVARCHAR(MAX)
    ) AS m;
    WHILE 1 = 1
    BEGIN
        SET @filter = NULL;
        SELECT TOP (1)
            @ordinal = w.ordinal,
            @filter = w.tag_filter
        FROM @wanted AS w
        WHERE w.target_type = N'Tag'
            AND w.tag_filter IS NOT NULL
            AND w.ordinal > COALESCE(@ordinal, 0)
        ORDER BY w.ordinal;
        IF @filter IS NULL
            BREAK;
        EXECUTE jobs_internal.parse_tag_filter @filter = @filter, @fault = @fault OUTPUT;
        UPDATE w
        SET w.tag_fault = @fault
        FROM @wanted AS w
        WHERE w.ordinal = @ordinal;
    END;

    -- The first member that is wrong, with its first fault.
    WITH faults AS (
        SELECT
            w.ordinal,
            CASE
                WHEN l.too_long IS NOT NULL THEN 50097
                WHEN w.membership_type NOT IN (N'Include', N'Exclude', N'Intersect') THEN 50022
                WHEN w.target_type IS NULL
                    OR w.target_type NOT IN (
                        N'SqlServer', N'SqlElasticPool', N'SqlDatabase', N'SqlShardMap', N'Tag', N'Query', N'TargetGroup'
                    ) THEN 50023
                WHEN (w.target_type NOT IN (N'Tag', N'TargetGroup') AND w.server_name IS NULL)
                    OR (w.target_type = N'Tag' AND w.tag_filter IS NULL)
                    OR (w.target_type = N'TargetGroup' AND w.member_group_name IS NULL)
                    OR (w.target_type = N'Query' AND w.query IS NULL)
                    OR (w.target_type IN (N'SqlDatabase', N'SqlShardMap', N'Query') AND w.database_name IS NULL)
                    OR (w.target_type = N'SqlElasticPool' AND w.elastic_pool_name IS NULL)
                    OR (w.target_type = N'SqlShardMap' AND w.shard_map_name IS NULL) THEN 50024
                WHEN (
                        w.target_type IN (N'Tag', N'TargetGroup')
                        AND (w.server_name IS NOT NULL OR w.refresh_credential_name IS NOT NULL)
                    )
                    OR (w.target_type <> N'Tag' AND w.tag_filter IS NOT NULL)
                    OR (w.target_type <> N'Query' AND w.query IS NOT NULL)
                    OR (w.target_type <> N'TargetGroup' AND w.member_group_name IS NOT NULL)
                    OR (w.target_type NOT IN (N'SqlDatabase', N'SqlShardMap', N'Query') AND w.database_name IS NOT NULL)
                    OR (w.target_type <> N'SqlElasticPool' AND w.elastic_pool_name IS NOT NULL)
                    OR (w.target_type <> N'SqlShardMap' AND w.shard_map_name IS NOT NULL) THEN 50025
                WHEN w.tag_fault IS NOT NULL THEN 50452
            END AS number,
            w.membership_type COLLATE DATABASE_DEFAULT AS membership_type,
            w.target_type COLLATE DATABASE_DEFAULT AS target_type,
            CASE
                WHEN w.target_type = N'Tag' THEN N'tag_filter'
                WHEN w.target_type = N'TargetGroup' THEN N'member_group_name'
                WHEN w.server_name IS NULL THEN N'server_name'
                WHEN w.target_type = N'Query' AND w.database_name IS NOT NULL THEN N'query'
                WHEN w.target_type IN (N'SqlDatabase', N'SqlShardMap', N'Query') AND w.database_name IS NULL THEN N'database_name'
                WHEN w.target_type = N'SqlElasticPool' AND w.elastic_pool_name IS NULL THEN N'elastic_pool_name'
                ELSE N'shard_map_name'
            END AS missing,
            CASE
                WHEN w.target_type IN (N'Tag', N'TargetGroup') AND w.server_name IS NOT NULL THEN N'server_name'
                WHEN w.target_type IN (N'Tag', N'TargetGroup') AND w.refresh_credential_name IS NOT NULL THEN N'refresh_credential_name'
                WHEN w.target_type <> N'Tag' AND w.tag_filter IS NOT NULL THEN N'tag_filter'
                WHEN w.target_type <> N'Query' AND w.query IS NOT NULL THEN N'query'
                WHEN w.target_type <> N'TargetGroup' AND w.member_group_name IS NOT NULL THEN N'member_group_name'
                WHEN w.target_type NOT IN (N'SqlDatabase', N'SqlShardMap', N'Query') AND w.database_name IS NOT NULL THEN N'database_name'
                WHEN w.target_type <> N'SqlElasticPool' AND w.elastic_pool_name IS NOT NULL THEN N'elastic_pool_name'
                ELSE N'shard_map_name'
            END AS surplus,
            l.too_long,
            w.tag_fault
        FROM @wanted AS w
        CROSS APPLY (
            SELECT CASE
                WHEN DATALENGTH(w.membership_type) > 256 THEN N'membership_type'
                WHEN DATALENGTH(w.target_type) > 256 THEN N'target_type'
                WHEN DATALENGTH(w.refresh_credential_name) > 256 THEN N'refresh_credential_name'
                WHEN DATALENGTH(w.server_name) > 256 THEN N'server_name'
                WHEN DATALENGTH(w.database_name) > 256 THEN N'database_name'
                WHEN DATALENGTH(w.elastic_pool_name) > 256 THEN N'elastic_pool_name'
                WHEN DATALENGTH(w.shard_map_name) > 256 THEN N'shard_map_name'
                WHEN DATALENGTH(w.member_group_name) > 256 THEN N'member_group_name'
                WHEN DATALENGTH(w.query) > 8000 THEN N'query'
            END AS too_long
        ) AS l
    )
    SELECT TOP (1)
        @number = f.number,
        @message = REPLACE(CONCAT(
            N'Member ', f.ordinal, N' of the target group ''', @target_group_name, N''': ',
            CASE f.number
                WHEN 50097 THEN CONCAT(
                    N'invalid ', f.too_long,
                    CASE WHEN f.too_long = N'query' THEN N': want at most 4000 characters.'
                        ELSE N': want at most 128 characters, not 129 or more.' END
                )
                WHEN 50022 THEN CONCAT(N'invalid membership_type ''', f.membership_type, N''': want Include, Exclude or Intersect.')
                WHEN 50023 THEN CONCAT(
                    N'invalid target_type ', COALESCE(N'''' + f.target_type + N'''', N'NULL'),
                    N': want SqlServer, SqlElasticPool, SqlDatabase, SqlShardMap, Tag, Query or TargetGroup.'
                )
                WHEN 50452 THEN CONCAT(N'invalid tag_filter: ', f.tag_fault)
                WHEN 50024 THEN CONCAT(N'missing ', f.missing, N': a member of type ', f.target_type, N' needs it.')
                ELSE CONCAT(N'unexpected ', f.surplus, N': a member of type ', f.target_type, N' does not use it.')
            END
        ), N'%', N'%%')
    FROM faults AS f
    WHERE f.number IS NOT NULL
    ORDER BY f.ordinal;
    IF @number = 50097
        THROW 50097, @message, 1;
    IF @number = 50022
        THROW 50022, @message, 1;
    IF @number = 50023
        THROW 50023, @message, 1;
    IF @number = 50024
        THROW 50024, @message, 1;
    IF @number = 50025
        THROW 50025, @message, 1;
    IF @number = 50452
        THROW 50452, @message, 1;
    SET @names = (
        SELECT w.ordinal, v.parameter, v.name, v.is_server
        FROM @wanted AS w
        CROSS APPLY (VALUES
            (N'server_name', w.server_name, CAST(1 AS BIT)),
            (N'database_name', w.database_name, CAST(0 AS BIT)),
            (N'elastic_pool_name', w.elastic_pool_name, CAST(0 AS BIT)),
            (N'shard_map_name', w.shard_map_name, CAST(0 AS BIT))
        ) AS v (parameter, name, is_server)
        WHERE v.name COLLATE Latin1_General_100_BIN2 LIKE N'%[^A-Za-z0-9._-]%' -- all other names are valid
        FOR JSON PATH
    );
    EXECUTE jobs_internal.check_external_names @names = @names, @target_group_name = @target_group_name;

    -- Agents take names that differ only in case, in the prefix tcp: and in the default port 1433 for one server (targets.ServerKey),
    -- and names of databases that differ only in case for one database (targets.DatabaseKey).
    WITH folded AS (
        SELECT
            w.ordinal,
            w.membership_type,
            w.target_type,
            LOWER(w.refresh_credential_name COLLATE Latin1_General_100_CI_AS) AS credential_key,
            LOWER(w.server_name COLLATE Latin1_General_100_CI_AS) AS server_key,
            LOWER(w.database_name COLLATE Latin1_General_100_CI_AS) AS database_key,
            LOWER(w.elastic_pool_name COLLATE Latin1_General_100_CI_AS) AS pool_key,
            LOWER(w.shard_map_name COLLATE Latin1_General_100_CI_AS) AS shard_map_key,
            w.tag_filter,
            w.query,
            w.member_group_name
        FROM @wanted AS w
    ),
    servers AS (
        SELECT
            f.ordinal,
            f.membership_type,
            f.target_type,
            f.credential_key,
            CASE
                WHEN f.server_key LIKE N'tcp:%' THEN STUFF(f.server_key, 1, 4, N'')
                ELSE f.server_key
            END AS server_key,
            f.database_key,
            f.pool_key,
            f.shard_map_key,
            f.tag_filter,
            f.query,
            f.member_group_name
        FROM folded AS f
    ),
    numbered AS (
        SELECT
            s.ordinal,
            MIN(s.ordinal) OVER (
                PARTITION BY
                    s.membership_type,
                    s.target_type,
                    s.credential_key COLLATE Latin1_General_BIN2,
                    CASE
                        WHEN s.server_key LIKE N'%,1433' THEN LEFT(s.server_key, LEN(s.server_key) - 5)
                        ELSE s.server_key
                    END COLLATE Latin1_General_BIN2,
                    s.database_key COLLATE Latin1_General_BIN2,
                    s.pool_key COLLATE Latin1_General_BIN2,
                    s.shard_map_key COLLATE Latin1_General_BIN2,
                    s.tag_filter,
                    s.query,
                    s.member_group_name COLLATE DATABASE_DEFAULT
            ) AS first_ordinal
        FROM servers AS s
    )
    SELECT TOP (1)
        @number = n.ordinal,
        @message = REPLACE(CONCAT(
            N'Member ', n.ordinal, N' of the target group ''', @target_group_name,
            N''': it is the same as member ', n.first_ordinal, N'. Remove one of them.'
        ), N'%', N'%%')
    FROM numbered AS n
    WHERE n.ordinal > n.first_ordinal
    ORDER BY n.ordinal;
    IF @number IS NOT NULL
        THROW 50078, @message, 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;

    SET @names = (
        SELECT CONCAT(N'[', STRING_AGG(CAST(CONCAT(N'"', STRING_ESCAPE(w.member_group_name, N'json'), N'"') AS NVARCHAR(MAX)), N','), N']')
        FROM @wanted AS w
        WHERE w.target_type = N'TargetGroup'
    );
    IF @names <> N'[]'
    BEGIN
        EXECUTE jobs_internal.check_member_groups @target_group_name = @target_group_name, @member_groups = @names;
        UPDATE w
        SET w.member_group_id = g.target_group_id
        FROM @wanted AS w
        INNER JOIN jobs_internal.target_groups AS g ON g.name = w.member_group_name COLLATE DATABASE_DEFAULT
        WHERE w.target_type = N'TargetGroup';
    END;

    SET @revision = NULL;
    SET @created = 1;
    -- revision is in no index, so that the lock is on the clustered key, and on the name, which other sessions may add.
    SELECT
        @created = 0,
        @target_group_id = g.target_group_id,
        @stored_name = g.name,
        @revision = g.revision
    FROM jobs_internal.target_groups AS g WITH (UPDLOCK, HOLDLOCK)
    WHERE g.name = @target_group_name;
    SET @target_group_name = COALESCE(@stored_name, @target_group_name);
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;
    IF @created = 1
    BEGIN
        EXECUTE jobs.sp_add_target_group @target_group_name = @target_group_name, @target_group_id = @target_group_id OUTPUT;
        SET @revision = 1;
    END;

    INSERT INTO @stored (
        ordinal, target_id, membership_type, target_type, refresh_credential_name, server_name, database_name, elastic_pool_name,
        shard_map_name, tag_filter, query, member_group_id
    )
    SELECT
        ROW_NUMBER() OVER (ORDER BY m.member_id), m.target_id, m.membership_type, m.target_type, m.refresh_credential_name,
        m.server_name, m.database_name, m.elastic_pool_name, m.shard_map_name, m.tag_filter, m.query, m.member_group_id
    FROM jobs_internal.target_group_members AS m
    WHERE m.target_group_id = @target_group_id;
    UPDATE w
    SET w.target_id = (
        SELECT TOP (1) s.target_id
        FROM @stored AS s
        WHERE EXISTS (
            SELECT
                s.membership_type, s.target_type, s.refresh_credential_name, s.server_name, s.database_name, s.elastic_pool_name,
                s.shard_map_name, s.tag_filter, s.query, s.member_group_id
            INTERSECT
            SELECT
                w.membership_type, w.target_type, w.refresh_credential_name, w.server_name, w.database_name, w.elastic_pool_name,
                w.shard_map_name, w.tag_filter, w.query, w.member_group_id
        )
        ORDER BY s.ordinal
    )
    FROM @wanted AS w;

    -- The order of member_id is the order of @members, so a change replaces all rows.
    IF EXISTS (
        SELECT w.ordinal, w.target_id
        FROM @wanted AS w
        EXCEPT
        SELECT s.ordinal, s.target_id
        FROM @stored AS s
    )
        OR (SELECT COUNT(*) FROM @wanted AS w) <> (SELECT COUNT(*) FROM @stored AS s)
    BEGIN
        SET @before_revision = @revision;
        EXECUTE jobs_internal.state_of_target_group @target_group_id = @target_group_id, @state = @before OUTPUT;
        SET @revision = @revision + 1;
        UPDATE g
        SET g.revision = @revision
        FROM jobs_internal.target_groups AS g
        WHERE g.target_group_id = @target_group_id;
        DELETE m
        FROM jobs_internal.target_group_members AS m
        WHERE m.target_group_id = @target_group_id;
        INSERT INTO jobs_internal.target_group_members (
            target_group_id, target_id, membership_type, target_type, refresh_credential_name,
            server_name, database_name, elastic_pool_name, shard_map_name, tag_filter, query, member_group_id
        )
        SELECT
            @target_group_id, COALESCE(w.target_id, NEWID()), w.membership_type, w.target_type, w.refresh_credential_name,
            w.server_name, w.database_name, w.elastic_pool_name, w.shard_map_name, w.tag_filter, w.query, w.member_group_id
        FROM @wanted AS w
        ORDER BY w.ordinal;
        EXECUTE jobs_internal.state_of_target_group @target_group_id = @target_group_id, @state = @after OUTPUT;
        EXECUTE jobs_internal.audit
            @action = N'sp_set_target_group',
            @object_kind = N'TargetGroup',
            @object_name = @target_group_name,
            @object_id = @target_group_id,
            @before = @before,
            @after = @after,
            @revision_before = @before_revision,
            @revision_after = @revision,
            @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
