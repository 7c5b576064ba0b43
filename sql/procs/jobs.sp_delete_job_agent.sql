-- Deletes the job agent (account) of this control database. From now on no schedule fires and nothing starts; active runs are
-- stopped. When no run is active any more, the terms of agents end, and the job agent is gone. Jobs, schedules and history are
-- left, and work again for the next job agent. If the job agent is being deleted already, the procedure joins that operation.
--
-- The procedure begins an operation (jobs.agent_operations), which the next agent or front to see it carries out.
--
-- Parameters:
--   @agent_name    Name of the job agent.
--   @operation_id  Id for the operation; NULL: a new one. Receives the id of the operation in progress.
-- Called by: members of the role jobs_admin.
-- Locks:     the row of the job agent (U, X); operations that ended a day ago (X); then an insert into job_agent_operations; an
--            insert into audit_entries.
-- Job agent: in each state: it checks the state itself.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50136 the caller has a transaction.
--   50184 another operation on the job agent is in progress.
--   50185 the job agent does not exist.
CREATE OR ALTER PROCEDURE jobs.sp_delete_job_agent
    @agent_name   NVARCHAR(129),
    @operation_id UNIQUEIDENTIFIER = NULL OUTPUT
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
    DECLARE @running UNIQUEIDENTIFIER;
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @audit_before NVARCHAR(MAX);

    IF @@TRANCOUNT > 0
        THROW 50136, N'The job agent is not changed inside a transaction, because passes of agents would wait for it. Commit first.', 1;
    IF DATALENGTH(@agent_name) > 256
        THROW 50097, N'Invalid @agent_name: want at most 128 characters, not 129 or more.', 1;

    BEGIN TRANSACTION;

    SELECT
        @name = a.name,
        @state = a.state,
        @running = a.operation_id
    FROM jobs_internal.job_agent AS a WITH (UPDLOCK, HOLDLOCK)
    WHERE a.id = 1;
    IF @name IS NULL OR @agent_name IS NULL OR @name <> @agent_name COLLATE Latin1_General_100_CI_AS
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The job agent ''', @agent_name, N''' does not exist. The view jobs.agent shows the job agent of this control database.'
        ), N'%', N'%%');
        THROW 50185, @message, 1;
    END;
    IF @state IN (N'Creating', N'Updating')
    BEGIN
        SET @message = REPLACE(CONCAT(N'The job agent is ', @state, N'. Wait until this operation has ended.'), N'%', N'%%');
        THROW 50184, @message, 1;
    END;

    IF @state = N'Deleting'
        SET @operation_id = @running;
    ELSE
    BEGIN
        SET @operation_id = COALESCE(@operation_id, NEWID());
        DELETE o
        FROM jobs_internal.job_agent_operations AS o
        WHERE o.ended_at < DATEADD(HOUR, -24, @now);
        INSERT INTO jobs_internal.job_agent_operations (operation_id, kind, agent_name, from_state, started_at, started_by)
        VALUES (@operation_id, N'DropJobAccount', @name, @state, @now, @caller);
        EXECUTE jobs_internal.set_job_agent_state @to = N'Deleting', @operation_id = @operation_id, @now = @now;
        SET @audit_before = CONCAT(N'{"state":"', @state, N'"}');
        EXECUTE jobs_internal.audit
            @action = N'sp_delete_job_agent',
            @object_kind = N'JobAgent',
            @object_name = @name,
            @object_id = @operation_id,
            @before = @audit_before,
            @now = @now;
    END;

    COMMIT TRANSACTION;
    RETURN 0;
END;
