-- Disables the job agent (account) of this control database: agents claim nothing and leave, no schedule fires, and neither runs
-- nor definitions can be started or changed. Running attempts end as usual; definitions and history can be read. Instants that
-- are due meanwhile are missed; the catch-up policies decide on them when the job agent is enabled again. Disabling again
-- changes the reason.
--
-- Parameters:
--   @reason  Why, for display.
-- Called by: members of the role jobs_admin.
-- Locks:     the row of the job agent (U, X); an insert into audit_entries.
-- Job agent: in each state: it checks the state itself.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50136 the caller has a transaction.
--   50184 an operation on the job agent is in progress.
--   50185 there is no job agent.
--   50187 the job agent is Faulted.
CREATE OR ALTER PROCEDURE jobs.sp_disable_job_agent
    @reason NVARCHAR(2001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @name NVARCHAR(128);
    DECLARE @state NVARCHAR(20);
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);
    DECLARE @old_reason NVARCHAR(2000);

    IF @@TRANCOUNT > 0
        THROW 50136, N'The job agent is not changed inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    IF DATALENGTH(@reason) > 4000
        THROW 50097, N'Invalid @reason: want at most 2000 characters, not 2001 or more.', 1;

    BEGIN TRANSACTION;

    SELECT
        @name = a.name,
        @state = a.state,
        @old_reason = a.reason
    FROM jobs_internal.job_agent AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.id = 1;
    IF @name IS NULL
        THROW 50185, N'This control database has no job agent. Create one with jobs.sp_set_job_agent.', 1;
    IF @state IN (N'Creating', N'Updating', N'Deleting')
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job agent is ', @state, N'. Wait until this operation has ended.'), N'%', N'%%');
        THROW 50184, @message, 1;
    END;
    IF @state = N'Faulted'
        THROW 50187, N'The job agent is Faulted, so nothing works already. Enable it before, or repair it with jobs.sp_set_job_agent.', 1;
    IF @state = N'Disabled'
        UPDATE a
        SET a.reason = @reason,
            a.disabled_by = @caller,
            a.changed_at = @now
        FROM jobs_internal.job_agent AS a
        WHERE a.id = 1;
    ELSE
        EXECUTE jobs_internal.set_job_agent_state @to = N'Disabled', @reason = @reason, @now = @now;

    SET @audit_before = (SELECT @state AS state, @old_reason AS reason FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
    SET @audit_after = (SELECT N'Disabled' AS state, @reason AS reason FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
    EXECUTE jobs_internal.audit
        @action = N'sp_disable_job_agent',
        @object_kind = N'JobAgent',
        @object_name = @name,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
