-- Ends the pause of a database. What waited for it is due with the next pass of an agent.
--
-- Parameters:
--   @server_name    Server of the database; NULL: @target_id is given.
--   @database_name  Name of the database; NULL likewise.
--   @target_id      Id of the database, as in jobs.target_pauses; NULL: of the names.
-- Called by: members of the role jobs_operator.
-- Locks:     the pause of the database (U, X); an insert into audit_entries.
-- Job agent: in each state: nothing starts while agents do not work.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50161 the database is not paused.
--   50198 the database is not known, and its id is not given.
--   50403 the server name has not the form host, host\instance or host,port.
--   50450 the arguments do not name a database, or not what to set.
CREATE OR ALTER PROCEDURE jobs.sp_resume_target
    @server_name   NVARCHAR(257) = NULL,
    @database_name NVARCHAR(129) = NULL,
    @target_id     UNIQUEIDENTIFIER = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @pause_id BIGINT;
    DECLARE @audit_name NVARCHAR(300);
    DECLARE @audit_before NVARCHAR(MAX);

    -- A database that was paused need not be known: its id finds the pause.
    IF @server_name IS NULL AND @database_name IS NULL
        SELECT
            @server_name = p.server_name,
            @database_name = p.database_name
        FROM jobs_internal.target_pauses AS p
        WHERE p.target_id = @target_id
            AND p.resumed_at IS NULL;
    EXECUTE jobs_internal.find_target
        @server_name = @server_name OUTPUT,
        @database_name = @database_name OUTPUT,
        @target_id = @target_id OUTPUT;

    BEGIN TRANSACTION;
    -- index: UQ_target_pauses_target_id, in which another session may insert a pause of the same database
    SELECT @pause_id = p.pause_id
    FROM jobs_internal.target_pauses AS p WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_target_pauses_target_id (target_id)))
    WHERE p.target_id = @target_id
        AND p.resumed_at IS NULL;
    SELECT @audit_before = (SELECT p.reason, p.ends_at AS end_time FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES)
    FROM jobs_internal.target_pauses AS p
    WHERE p.pause_id = @pause_id
        AND (p.ends_at IS NULL OR p.ends_at > @now);
    IF @audit_before IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The database ', @server_name, N'/', @database_name,
            N' is not paused. The view jobs.target_pauses lists all paused databases.'
        ), N'%', N'%%');
        THROW 50161, @message, 1;
    END;
    UPDATE p
    SET p.resumed_at = @now
    FROM jobs_internal.target_pauses AS p
    WHERE p.pause_id = @pause_id;

    SET @audit_name = LEFT(CONCAT(@server_name, N'/', @database_name), 300);
    EXECUTE jobs_internal.audit
        @action = N'sp_resume_target',
        @object_kind = N'Target',
        @object_name = @audit_name,
        @object_id = @target_id,
        @before = @audit_before,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
