-- Removes a member from a target group.
--
-- Parameters:
--   @target_group_name  Name of the target group.
--   @target_id          Id of the member: the column target_id of jobs.target_group_members.
-- Called by: members of the role jobs_author.
-- Locks:     the target group's row (U, X), the member's row (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50026 the target id is missing.
--   50097 a text is longer than its limit.
--   50106 the target group does not exist.
--   50110 the target group has no such member.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_delete_target_group_member
    @target_group_name NVARCHAR(129),
    @target_id         UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;

    IF @target_id IS NULL
        THROW 50026, N'Missing target id: @target_id is NULL.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    EXECUTE jobs_internal.lock_target_group
        @target_group_name = @target_group_name OUTPUT,
        @target_group_id = @target_group_id OUTPUT;

    EXECUTE jobs_internal.state_of_member
        @target_group_id = @target_group_id,
        @target_id = @target_id,
        @state = @audit_before OUTPUT,
        @revision = @revision_before OUTPUT;
    DELETE m
    FROM jobs_internal.target_group_members AS m
    WHERE m.target_group_id = @target_group_id
        AND m.target_id = @target_id;
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @target_group_name, N''' has no member with the target id ', @target_id,
            N'. The view jobs.target_group_members lists its members.'
        ), N'%', N'%%');
        THROW 50110, @message, 1;
    END;

    UPDATE g
    SET g.revision = g.revision + 1
    FROM jobs_internal.target_groups AS g
    WHERE g.target_group_id = @target_group_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_target_group_member',
        @object_kind = N'TargetGroupMember',
        @object_name = @target_group_name,
        @object_id = @target_id,
        @before = @audit_before,
        @revision_before = @revision_before;

    COMMIT TRANSACTION;
    RETURN 0;
END;
