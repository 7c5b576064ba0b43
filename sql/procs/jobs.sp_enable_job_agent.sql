-- Enables a job agent (account) that is Disabled or Faulted. Enabling a job agent that is Ready has no effect.
--
-- Called by: members of the role jobs_admin.
-- Locks:     the row of the job agent (U, X); an insert into audit_entries.
-- Job agent: in each state: it checks the state itself.
-- Returns:   0.
-- Throws:
--   50136 the caller has a transaction.
--   50184 an operation on the job agent is in progress.
--   50185 there is no job agent.
CREATE OR ALTER PROCEDURE jobs.sp_enable_job_agent
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
    DECLARE @audit_before NVARCHAR(MAX);

    IF @@TRANCOUNT > 0
        THROW 50136, N'The job agent is not changed inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    BEGIN TRANSACTION;

    SELECT
        @name = a.name,
        @state = a.state
    FROM jobs_internal.job_agent AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.id = 1;
    IF @name IS NULL
        THROW 50185, N'This control database has no job agent. Create one with jobs.sp_set_job_agent.', 1;
    IF @state IN (N'Creating', N'Updating', N'Deleting')
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job agent is ', @state, N'. Wait until this operation has ended.'), N'%', N'%%');
        THROW 50184, @message, 1;
    END;
    IF @state <> N'Ready'
        EXECUTE jobs_internal.set_job_agent_state @to = N'Ready', @now = @now;

    SET @audit_before = CONCAT(N'{"state":"', @state, N'"}');
    EXECUTE jobs_internal.audit
        @action = N'sp_enable_job_agent',
        @object_kind = N'JobAgent',
        @object_name = @name,
        @before = @audit_before,
        @after = N'{"state":"Ready"}',
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
