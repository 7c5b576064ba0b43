-- Deletes a target group with its members. The current version of a job (decision 25), an active run or another target group must not use
-- it.
--
-- Parameters:
--   @target_group_name  Name of the target group.
--   @if_match           The group's revision must be this one; NULL: any.
-- Called by: members of the role jobs_author.
-- Locks:     the target group's row (U, then X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50012 the target group name is missing or empty.
--   50097 a text is longer than its limit.
--   50106 the target group does not exist.
--   50108 the target group is used by a job's current version, or by another target group.
--   50109 the target group is used by an active execution.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50203 the object does not have the expected revision.
CREATE OR ALTER PROCEDURE jobs.sp_delete_target_group
    @target_group_name NVARCHAR(129),
    @if_match          BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @target_group_id UNIQUEIDENTIFIER;
    DECLARE @job_name NVARCHAR(128);
    DECLARE @step_name NVARCHAR(128);
    DECLARE @step_id INT;
    DECLARE @group_name NVARCHAR(128); -- of which it is a member
    DECLARE @job_execution_id UNIQUEIDENTIFIER;
    DECLARE @object NVARCHAR(400) = CONCAT(N'The target group ''', @target_group_name, N'''');
    DECLARE @revision BIGINT;
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @revision_before BIGINT;

    IF DATALENGTH(@target_group_name) > 256
        THROW 50097, N'Invalid @target_group_name: want at most 128 characters, not 129 or more.', 1;

    BEGIN TRANSACTION;

    EXECUTE jobs_internal.check_job_agent;
    EXECUTE jobs_internal.lock_target_group
        @target_group_name = @target_group_name OUTPUT,
        @target_group_id = @target_group_id OUTPUT,
        @revision = @revision OUTPUT;
    EXECUTE jobs_internal.check_revision @object = @object, @revision = @revision, @if_match = @if_match;

    SELECT TOP (1)
        @job_name = j.name,
        @step_id = s.step_id,
        @step_name = s.step_name
    FROM jobs_internal.job_steps AS s
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id AND j.current_version = s.version
    WHERE s.target_group_id = @target_group_id
        AND j.deleted_at IS NULL
    ORDER BY j.name, s.step_id;
    IF @job_name IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @target_group_name, N''' is used by step ', @step_id, N' ''', @step_name, N''' of the job ''',
            @job_name, N'''. Assign another group to that step, or delete the step, first.'
        ), N'%', N'%%');
        THROW 50108, @message, 1;
    END;

    SELECT TOP (1)
        @job_name = j.name,
        @step_id = s.step_id,
        @job_execution_id = e.job_execution_id
    FROM jobs_internal.job_executions AS e
    INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    INNER JOIN jobs_internal.job_steps AS s ON s.job_id = e.job_id AND s.version = e.job_version
    WHERE e.is_active = 1
        AND s.target_group_id = @target_group_id
        AND j.deleted_at IS NULL
    ORDER BY e.execution_id;
    IF @job_execution_id IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @target_group_name, N''' is used by step ', @step_id, N' of the execution ', @job_execution_id,
            N' of the job ''', @job_name, N''', which is active. Wait until it ends, or stop it, first.'
        ), N'%', N'%%');
        THROW 50109, @message, 1;
    END;

    SELECT TOP (1) @group_name = g.name
    FROM jobs_internal.target_group_members AS m
    INNER JOIN jobs_internal.target_groups AS g ON g.target_group_id = m.target_group_id
    WHERE m.member_group_id = @target_group_id
    ORDER BY g.name;
    IF @group_name IS NOT NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The target group ''', @target_group_name, N''' is a member of the target group ''', @group_name, N'''. Remove it there first.'
        ), N'%', N'%%');
        THROW 50108, @message, 1;
    END;

    EXECUTE jobs_internal.state_of_target_group
        @target_group_id = @target_group_id,
        @state = @audit_before OUTPUT,
        @revision = @revision_before OUTPUT;
    DELETE g
    FROM jobs_internal.target_groups AS g
    WHERE g.target_group_id = @target_group_id;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_target_group',
        @object_kind = N'TargetGroup',
        @object_id = @target_group_id,
        @before = @audit_before,
        @revision_before = @revision_before;

    COMMIT TRANSACTION;
    RETURN 0;
END;
