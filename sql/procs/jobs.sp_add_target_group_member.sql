-- Adds a member to a target group. A server or a pool stands for all its databases at the time of a run. An excluded
-- database is excluded whatever the order of members.
--
-- A member of type Tag stands for the known databases (jobs.targets) whose tags match a filter when a run resolves the group. An Include
-- leaves out databases that are gone; Exclude and Intersect do not. One of type Query stands for the databases that a query returns then,
-- such as one of a catalog of tenants, or of sys.databases in master. One of type TargetGroup stands for the databases of another group.
--
-- The databases of a group are those of all its members of type Include, of which each Intersect keeps those that it stands for, and from
-- which each Exclude takes away those that it stands for.
--
-- Parameters:
--   @target_group_name        Name of the target group.
--   @membership_type          Include, Exclude or Intersect, in any case.
--   @target_type              SqlServer, SqlElasticPool, SqlDatabase, SqlShardMap, Tag, Query or TargetGroup, in any case.
--   @refresh_credential_name  Credential that lists databases; NULL: the agent's default.
--   @server_name              Server; every target type but Tag and TargetGroup needs it: host, host\instance or host,port, optionally
--                             after tcp:.
--   @database_name            Database (SqlDatabase), the shard map manager's (SqlShardMap), or the one that is queried (Query). With *
--                             or ? in it, the name of a SqlDatabase is a pattern for the user databases of the server: * stands for any
--                             characters, ? for one.
--   @elastic_pool_name        Elastic pool (SqlElasticPool).
--   @shard_map_name           Shard map (SqlShardMap).
--   @target_id                Receives the id of the member.
--   @tag_filter               Filter of tags (Tag), such as tier = 'gold' AND NOT region IN ('eu', 'us'), of at most 4000 characters. It
--                             means what it would mean in a WHERE, with tags as columns, and NULL for a tag that a database does not have.
--   @query                    A batch (Query) of at most 4000 characters. Its one result set has a column database_name, and may have a
--                             column server_name; without it, or where it is NULL, the server is @server_name. Columns whose names
--                             begin with tag_ are tags: tag_tier becomes the tag tier of the database in each run that resolves the
--                             group, whatever its value was; NULL removes it. Other columns have no effect. Agents run it in a
--                             transaction that they roll back, with the credential @refresh_credential_name.
--   @member_group_name        Name of the other target group (TargetGroup).
-- Called by: members of the role jobs_author.
-- Locks:     the target group's row (U, X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50022 the membership type is not Include, Exclude or Intersect.
--   50023 the target type is invalid.
--   50024 a name that the target type needs is missing.
--   50025 a name is given that the target type does not use.
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50098 a name is empty.
--   50106 the target group does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50403 the server name has not the form host, host\instance or host,port.
--   50452 the filter of tags is invalid.
--   50480 the target group would be a member of itself.
CREATE OR ALTER PROCEDURE jobs.sp_add_target_group_member
    @target_group_name       NVARCHAR(129),
    @membership_type         NVARCHAR(129) = N'Include',
    @target_type             NVARCHAR(129) = NULL,
    @refresh_credential_name NVARCHAR(129) = NULL,
    @server_name             NVARCHAR(129) = NULL,
    @database_name           NVARCHAR(129) = NULL,
    @elastic_pool_name       NVARCHAR(129) = NULL,
    @shard_map_name          NVARCHAR(129) = NULL,
    @target_id               UNIQUEIDENTIFIER = NULL OUTPUT,
    @tag_filter              NVARCHAR(MAX) = NULL,
    @query                   NVARCHAR(MAX) = NULL,
    @member_group_name       NVARCHAR(129) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @membership NVARCHAR(128) = CASE COALESCE(@membership_type, N'Include') COLLATE Latin1_General_100_CI_AS
        WHEN N'include' THEN N'Include'
        WHEN N'exclude' THEN N'Exclude'
        WHEN N'intersect' THEN N'Intersect'
    END;
    DECLARE @type NVARCHAR(128) = CASE @target_type COLLATE Latin1_General_100_CI_AS
        WHEN N'sqlserver' THEN N'SqlServer'
        WHEN N'sqlelasticpool' THEN N'SqlElasticPool'
        WHEN N'sqldatabase' THEN N'SqlDatabase'
        WHEN N'sqlshardmap' THEN N'SqlShardMap'
        WHEN N'tag' THEN N'Tag'
        WHEN N'query' THEN N'Query'
        WHEN N'targetgroup' THEN N'TargetGroup'
    END;
    DECLARE @member_group_id UNIQUEIDENTIFIER;
    DECLARE @missing NVARCHAR(128);
    DECLARE @surplus NVARCHAR(128);
    DECLARE @fault NVARCHAR(1000);
    DECLARE @names NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@membership_type) > 256
        THROW 50097, N'Invalid @membership_type: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@target_type) > 256
        THROW 50097, N'Invalid @target_type: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@refresh_credential_name) > 256
        THROW 50097, N'Invalid @refresh_credential_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@server_name) > 256
        THROW 50097, N'Invalid @server_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@database_name) > 256
        THROW 50097, N'Invalid @database_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@elastic_pool_name) > 256
        THROW 50097, N'Invalid @elastic_pool_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@shard_map_name) > 256
        THROW 50097, N'Invalid @shard_map_name: want at most 128 characters, not 129 or more.', 1;
    IF DATALENGTH(@query) > 8000
        THROW 50097, N'Invalid @query: want at most 4000 characters.', 1;
    IF DATALENGTH(@member_group_name) > 256
        THROW 50097, N'Invalid @member_group_name: want at most 128 characters, not 129 or more.', 1;
    IF LTRIM(@refresh_credential_name) = N'' AND @type <> N'SqlDatabase'
        THROW 50098, N'Invalid @refresh_credential_name: the name is empty. Omit it to use the default credential of the agent.', 1;

    IF @membership IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @membership_type ''', @membership_type, N''': want Include, Exclude or Intersect.'
        ), N'%', N'%%');
        THROW 50022, @message, 1;
    END;
    IF @type IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Invalid @target_type ', COALESCE(N'''' + @target_type + N'''', N'NULL'),
            N': want SqlServer, SqlElasticPool, SqlDatabase, SqlShardMap, Tag, Query or TargetGroup.'
        ), N'%', N'%%');
        THROW 50023, @message, 1;
    END;

    SET @refresh_credential_name = NULLIF(@refresh_credential_name, N'');
    SET @server_name = NULLIF(LTRIM(RTRIM(@server_name)), N'');
    SET @database_name = NULLIF(@database_name, N'');
    SET @elastic_pool_name = NULLIF(@elastic_pool_name, N'');
    SET @shard_map_name = NULLIF(@shard_map_name, N'');
    SET @tag_filter = NULLIF(LTRIM(RTRIM(@tag_filter)), N'');
    SET @query = NULLIF(LTRIM(RTRIM(@query)), N'');
    SET @member_group_name = NULLIF(@member_group_name, N'');

    SET @missing = CASE
        WHEN @type = N'Tag' AND @tag_filter IS NULL THEN N'@tag_filter'
        WHEN @type = N'TargetGroup' AND @member_group_name IS NULL THEN N'@member_group_name'
        WHEN @type NOT IN (N'Tag', N'TargetGroup') AND @server_name IS NULL THEN N'@server_name'
        WHEN @type IN (N'SqlDatabase', N'SqlShardMap', N'Query') AND @database_name IS NULL THEN N'@database_name'
        WHEN @type = N'Query' AND @query IS NULL THEN N'@query'
        WHEN @type = N'SqlElasticPool' AND @elastic_pool_name IS NULL THEN N'@elastic_pool_name'
        WHEN @type = N'SqlShardMap' AND @shard_map_name IS NULL THEN N'@shard_map_name'
    END;
    IF @missing IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Missing ', @missing, N': a member of type ', @type, N' needs it.'), N'%', N'%%');
        THROW 50024, @message, 1;
    END;
    SET @surplus = CASE
        WHEN @type IN (N'Tag', N'TargetGroup') AND @server_name IS NOT NULL THEN N'@server_name'
        WHEN @type IN (N'Tag', N'TargetGroup') AND @refresh_credential_name IS NOT NULL THEN N'@refresh_credential_name'
        WHEN @type <> N'Tag' AND @tag_filter IS NOT NULL THEN N'@tag_filter'
        WHEN @type <> N'Query' AND @query IS NOT NULL THEN N'@query'
        WHEN @type <> N'TargetGroup' AND @member_group_name IS NOT NULL THEN N'@member_group_name'
        WHEN @type NOT IN (N'SqlDatabase', N'SqlShardMap', N'Query') AND @database_name IS NOT NULL THEN N'@database_name'
        WHEN @type <> N'SqlElasticPool' AND @elastic_pool_name IS NOT NULL THEN N'@elastic_pool_name'
        WHEN @type <> N'SqlShardMap' AND @shard_map_name IS NOT NULL THEN N'@shard_map_name'
    END;
    IF @surplus IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'Unexpected ', @surplus, N': a member of type ', @type, N' does not use it. Omit it, or choose another @target_type.'
        ), N'%', N'%%');
        THROW 50025, @message, 1;
    END;
    SET @names = (
        SELECT v.parameter, v.name, v.is_server
        FROM (VALUES
            (N'@server_name', @server_name, CAST(1 AS BIT)),
            (N'@database_name', @database_name, CAST(0 AS BIT)),
            (N'@elastic_pool_name', @elastic_pool_name, CAST(0 AS BIT)),
            (N'@shard_map_name', @shard_map_name, CAST(0 AS BIT))
        ) AS v (parameter, name, is_server)
        FOR JSON PATH
    );
    EXECUTE jobs_internal.check_external_names @names = @names;
    IF @type = N'Tag'
        EXECUTE jobs_internal.parse_tag_filter @filter = @tag_filter, @fault = @fault OUTPUT;
    IF @fault IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'Invalid @tag_filter: ', @fault), N'%', N'%%');
        THROW 50452, @message, 1;
    END;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    IF @type = N'TargetGroup'
    BEGIN
        SET @names = CONCAT(N'["', STRING_ESCAPE(@member_group_name, N'json'), N'"]');
        EXECUTE jobs_internal.check_member_groups @target_group_name = @target_group_name, @member_groups = @names;
        SET @member_group_id = (SELECT g.target_group_id FROM jobs_internal.target_groups AS g WHERE g.name = @member_group_name);
    END;
    EXECUTE jobs_internal.lock_target_group
        @target_group_name = @target_group_name OUTPUT,
        @target_group_id = @target_group_id OUTPUT;

    SET @target_id = NEWID();
    INSERT INTO jobs_internal.target_group_members (
        target_group_id, target_id, membership_type, target_type, refresh_credential_name,
        server_name, database_name, elastic_pool_name, shard_map_name, tag_filter, query, member_group_id
    )
    VALUES (
        @target_group_id, @target_id, @membership, @type, @refresh_credential_name,
        @server_name, @database_name, @elastic_pool_name, @shard_map_name, @tag_filter, @query, @member_group_id
    );

    UPDATE g
    SET g.revision = g.revision + 1
    FROM jobs_internal.target_groups AS g
    WHERE g.target_group_id = @target_group_id;

    EXECUTE jobs_internal.state_of_member
        @target_group_id = @target_group_id,
        @target_id = @target_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_target_group_member',
        @object_kind = N'TargetGroupMember',
        @object_name = @target_group_name,
        @object_id = @target_id,
        @after = @audit_after,
        @revision_after = @revision_after;

    COMMIT TRANSACTION;
    RETURN 0;
END;
