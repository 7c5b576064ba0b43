-- Reads what the target group of a claimed resolution, or of a question, stands for: its members, those of the groups that are members of
-- it, directly or not, and the known databases that match the filters of members of type Tag now.
--
-- Cost: (members of the groups), and for each filter the known databases (jobs_internal.match_tags). It reads without locks.
--
-- Parameters:
--   @task_id          The resolution; NULL: of a question.
--   @target_group_id  The target group of the question; NULL: that of the resolution.
-- Called by: agent/task_host.go, once per attempt of a resolution whose group has members of type Tag, Query or TargetGroup, and
--            agent/questions.go, once per question.
-- Locks:     nothing.
-- Returns:   1: a row for each member: is_root (1: of the target group itself), target_group_name, target_id, membership_type, target_type,
--               refresh_credential_name, server_name, database_name, elastic_pool_name, shard_map_name, tag_filter, query,
--               member_group_name, is_evaluated (1: a member of type Tag whose databases are in 2; 0: its filter cannot
--               be evaluated, so the resolution fails).
--            2: the databases of the members of type Tag: target_id of the member, server_name, database_name. Those of an Include that
--               are gone are left out.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.get_members
    @task_id         BIGINT,
    @target_group_id UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @root UNIQUEIDENTIFIER = @target_group_id;
    DECLARE @member_id BIGINT = 0; -- of type Tag
    DECLARE @tag_filter NVARCHAR(4000);
    DECLARE @with_gone BIT;
    DECLARE @matches NVARCHAR(MAX);
    DECLARE @count INT = 1;
    DECLARE @groups TABLE (target_group_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY);
    DECLARE @evaluated TABLE (member_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @tagged TABLE (member_id BIGINT NOT NULL, target_id UNIQUEIDENTIFIER NOT NULL, PRIMARY KEY (member_id, target_id));

    SELECT @root = d.target_group_id
    FROM jobs_internal.task_executions AS k
    INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
    INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
    WHERE k.task_id = @task_id;
    INSERT INTO @groups (target_group_id)
    SELECT @root
    WHERE @root IS NOT NULL;
    WHILE @count > 0
    BEGIN
        INSERT INTO @groups (target_group_id)
        SELECT DISTINCT m.member_group_id
        FROM @groups AS g
        INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = g.target_group_id
        WHERE m.member_group_id IS NOT NULL
            AND m.member_group_id NOT IN (SELECT x.target_group_id FROM @groups AS x);
        SET @count = @@ROWCOUNT;
    END;

    WHILE 1 = 1
    BEGIN
        SET @tag_filter = NULL;
        SELECT TOP (1)
            @member_id = m.member_id,
            @tag_filter = m.tag_filter,
            @with_gone = CASE WHEN m.membership_type = N'Include' THEN 0 ELSE 1 END
        FROM @groups AS g
        INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = g.target_group_id
        WHERE m.target_type = N'Tag'
            AND m.member_id > @member_id
        ORDER BY m.member_id;
        IF @tag_filter IS NULL
            BREAK;
        EXECUTE jobs_internal.match_tags @filter = @tag_filter, @with_gone = @with_gone, @matches = @matches OUTPUT;
        INSERT INTO @evaluated (member_id)
        SELECT @member_id
        WHERE @matches IS NOT NULL;
        INSERT INTO @tagged (member_id, target_id)
        SELECT @member_id, o.target_id
        FROM OPENJSON(@matches) WITH (target_id UNIQUEIDENTIFIER) AS o;
    END;

    SELECT
        CAST(CASE WHEN m.target_group_id = @root THEN 1 ELSE 0 END AS BIT) AS is_root,
        o.name AS target_group_name,
        m.target_id,
        m.membership_type,
        m.target_type,
        m.refresh_credential_name,
        m.server_name,
        m.database_name,
        m.elastic_pool_name,
        m.shard_map_name,
        m.tag_filter,
        m.query,
        n.name AS member_group_name,
        CAST(CASE WHEN e.member_id IS NOT NULL THEN 1 ELSE 0 END AS BIT) AS is_evaluated
    FROM @groups AS g
    INNER JOIN jobs_internal.target_groups AS o ON o.target_group_id = g.target_group_id
    INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = g.target_group_id
    LEFT JOIN jobs_internal.target_groups AS n ON n.target_group_id = m.member_group_id
    LEFT JOIN @evaluated AS e ON e.member_id = m.member_id
    ORDER BY m.member_id;

    SELECT m.target_id, t.server_name, t.database_name
    FROM @tagged AS a
    INNER JOIN jobs_internal.target_group_members AS m ON m.member_id = a.member_id
    INNER JOIN jobs_internal.targets AS t ON t.target_id = a.target_id
    ORDER BY m.member_id, t.target_id;
    RETURN 0;
END;
