-- Finds a target group by name and locks its row until the caller's transaction ends.
--
-- Parameters:
--   @target_group_name  Name of the target group; receives its stored spelling.
--   @target_group_id    Receives its id.
--   @revision           Receives its revision.
-- Called by: the public procedures that change or use a target group, within their transactions.
-- Locks:     one row of target_groups (U).
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50106 the target group does not exist.
CREATE OR ALTER PROCEDURE jobs_internal.lock_target_group
    @target_group_name NVARCHAR(128) OUTPUT,
    @target_group_id   UNIQUEIDENTIFIER OUTPUT,
    @revision          BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);
    DECLARE @name NVARCHAR(128) = @target_group_name;
    DECLARE @created_at DATETIME2(7);

    IF @name IS NULL OR LTRIM(@name) = N''
        THROW 50012, N'Missing target group name: @target_group_name is NULL or empty.', 1;

    SET @target_group_id = NULL;
    -- created_at is in no index, so that the lock is on the clustered key, where reruns look for it.
    SELECT
        @target_group_id = g.target_group_id,
        @target_group_name = g.name,
        @created_at = g.created_at,
        @revision = g.revision
    FROM jobs_internal.target_groups AS g WITH (UPDLOCK, HOLDLOCK)
    WHERE g.name = @name;

    IF @target_group_id IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @name, N''' does not exist. The view jobs.target_groups lists all target groups.'
        ), N'%', N'%%');
        THROW 50106, @message, 1;
    END;
    RETURN 0;
END;
