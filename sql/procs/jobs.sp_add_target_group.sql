-- Adds an empty target group.
--
-- Parameters:
--   @target_group_name  Name; unique.
--   @target_group_id    Receives the new id.
-- Called by: members of the role jobs_author.
-- Locks:     the range of the name in target_groups (U); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50093 the name has an invisible character, a blank at an end, a period at the end, or a part . or ...
--   50097 a text is longer than its limit.
--   50107 a target group of this name exists already.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
CREATE OR ALTER PROCEDURE jobs.sp_add_target_group
    @target_group_name NVARCHAR(129),
    @target_group_id   UNIQUEIDENTIFIER = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @revision_after BIGINT;

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;

    IF @target_group_name IS NULL OR LTRIM(@target_group_name) = N''
        THROW 50012, N'Missing target group name: @target_group_name is NULL or empty.', 1;
    EXECUTE jobs_internal.check_name @name = @target_group_name, @parameter = N'@target_group_name';

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    -- index: UQ_target_groups_name, in which other sessions may add the same name
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.target_groups AS g WITH (UPDLOCK, HOLDLOCK)
        WHERE g.name = @target_group_name
    )
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'A target group named ''', @target_group_name, N''' exists already. Choose another name, or add members to it.'
        ), N'%', N'%%');
        THROW 50107, @message, 1;
    END;

    SET @target_group_id = NEWID();
    INSERT INTO jobs_internal.target_groups (target_group_id, name, created_at)
    VALUES (@target_group_id, @target_group_name, @now);

    EXECUTE jobs_internal.state_of_target_group
        @target_group_id = @target_group_id,
        @state = @audit_after OUTPUT,
        @revision = @revision_after OUTPUT;
    EXECUTE jobs_internal.audit
        @action = N'sp_add_target_group',
        @object_kind = N'TargetGroup',
        @object_id = @target_group_id,
        @after = @audit_after,
        @revision_after = @revision_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
