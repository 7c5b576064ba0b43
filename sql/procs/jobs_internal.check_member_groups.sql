-- Checks the groups that are to be members of a target group: they exist, and it does not become a member of itself.
--
-- Its reads take no locks, because those of several groups would be in another order than those of other procedures. Two sessions that make
-- two groups members of each other at the same time both succeed; agents refuse to resolve such groups. A group that another session
-- deletes meanwhile violates the foreign key.
--
-- Parameters:
--   @target_group_name  Name of the target group, which need not exist yet.
--   @member_groups      JSON array of the names of groups.
-- Called by: jobs.sp_add_target_group_member, jobs.sp_set_target_group, within their transactions.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50106 the target group does not exist: one of @member_groups.
--   50480 the target group would be a member of itself.
CREATE OR ALTER PROCEDURE jobs_internal.check_member_groups
    @target_group_name NVARCHAR(128),
    @member_groups     NVARCHAR(MAX)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @missing NVARCHAR(128);
    DECLARE @via NVARCHAR(128);
    DECLARE @count INT = 1;
    DECLARE @reached TABLE (target_group_id UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, via NVARCHAR(128) NOT NULL);

    SELECT TOP (1) @missing = CAST(o.value AS NVARCHAR(128))
    FROM OPENJSON(@member_groups) AS o
    WHERE NOT EXISTS (
        SELECT 1
        FROM jobs_internal.target_groups AS g
        WHERE g.name = CAST(o.value AS NVARCHAR(128)) COLLATE DATABASE_DEFAULT
    )
    ORDER BY CAST(o.[key] AS INT);
    IF @missing IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @missing, N''' does not exist. The view jobs.target_groups lists all target groups.'
        ), N'%', N'%%');
        THROW 50106, @message, 1;
    END;

    INSERT INTO @reached (target_group_id, via)
    SELECT g.target_group_id, g.name
    FROM jobs_internal.target_groups AS g
    WHERE g.name IN (SELECT CAST(o.value AS NVARCHAR(128)) COLLATE DATABASE_DEFAULT FROM OPENJSON(@member_groups) AS o);
    WHILE @count > 0
    BEGIN
        INSERT INTO @reached (target_group_id, via)
        SELECT m.member_group_id, MIN(r.via)
        FROM @reached AS r
        INNER JOIN jobs_internal.target_group_members AS m ON m.target_group_id = r.target_group_id
        WHERE m.member_group_id IS NOT NULL
            AND m.member_group_id NOT IN (SELECT x.target_group_id FROM @reached AS x)
        GROUP BY m.member_group_id;
        SET @count = @@ROWCOUNT;
    END;
    SELECT TOP (1) @via = r.via
    FROM @reached AS r
    INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = r.target_group_id
    WHERE g.name = @target_group_name;
    IF @via IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @target_group_name, N''' would be a member of itself, because the target group ''', @via,
            N''' is the same or has it as a member, directly or not. Remove it there first.'
        ), N'%', N'%%');
        THROW 50480, @message, 1;
    END;
    RETURN 0;
END;
