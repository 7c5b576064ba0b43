-- Pauses a database: no attempt of any job starts on it any more, until the pause is ended or ends by itself. Attempts that run go on to
-- their end. A target that waits does so within the time limit of its step, and is then Skipped, or TimedOut if it had an attempt before.
-- Roll-outs, trials and preflights wait, too. A database that is paused already gets the new reason and end.
--
-- The pause counts from when the call has committed; a claim that has begun before may start one more attempt.
--
-- Parameters:
--   @server_name    Server of the database; NULL: @target_id is given. The database need not be known.
--   @database_name  Name of the database; NULL likewise.
--   @reason         Why; at most 1000 characters. NULL: none is given.
--   @end_time       When the pause ends by itself (UTC); NULL: it does not.
--   @target_id      Id of the database, as in jobs.targets; NULL: of the names.
--   @seconds        How many seconds the pause lasts by the clock of the control database, 1 to 31622400 (366 days), in place of @end_time.
-- Called by: members of the role jobs_operator.
-- Locks:     the pause of the database (U, X); an insert into audit_entries.
-- Job agent: in each state: it starts nothing.
-- Returns:   0.
-- Throws:
--   50093 the name has an invisible character.
--   50097 a text is longer than its limit.
--   50198 the database is not known, and its id is not given.
--   50403 the server name has not the form host, host\instance or host,port.
--   50450 the arguments do not name a database, or not what to set.
--   50460 the end of a pause has passed, its duration is out of range, or both are given.
CREATE OR ALTER PROCEDURE jobs.sp_pause_target
    @server_name   NVARCHAR(257) = NULL,
    @database_name NVARCHAR(129) = NULL,
    @reason        NVARCHAR(1001) = NULL,
    @end_time      DATETIME2(7) = NULL,
    @target_id     UNIQUEIDENTIFIER = NULL,
    @seconds       INT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @by NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @pause_id BIGINT;
    DECLARE @is_over BIT;
    DECLARE @audit_name NVARCHAR(300);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF DATALENGTH(@reason) > 2000
        THROW 50097, N'Invalid @reason: want at most 1000 characters, not 1001 or more.', 1;
    IF @end_time <= @now
        THROW 50460, N'Invalid @end_time: want a time in the future (UTC).', 1;
    IF @seconds < 1 OR @seconds > 31622400
        THROW 50460, N'Invalid @seconds: want 1 to 31622400 seconds (366 days).', 1;
    IF @seconds IS NOT NULL AND @end_time IS NOT NULL
        THROW 50460, N'Unexpected @seconds: @end_time is given, too.', 1;
    SET @end_time = COALESCE(@end_time, DATEADD(SECOND, @seconds, @now));
    EXECUTE jobs_internal.find_target
        @server_name = @server_name OUTPUT,
        @database_name = @database_name OUTPUT,
        @target_id = @target_id OUTPUT;
    SET @reason = NULLIF(LTRIM(@reason), N'');

    BEGIN TRANSACTION;
    -- index: UQ_target_pauses_target_id, in which another session may insert a pause of the same database
    SELECT @pause_id = p.pause_id
    FROM jobs_internal.target_pauses AS p WITH (UPDLOCK, HOLDLOCK, FORCESEEK (UQ_target_pauses_target_id (target_id)))
    WHERE p.target_id = @target_id
        AND p.resumed_at IS NULL;
    SELECT
        @is_over = CASE WHEN p.ends_at <= @now THEN 1 ELSE 0 END,
        @audit_before = CASE
            WHEN p.ends_at IS NULL OR p.ends_at > @now
                THEN (SELECT p.reason, p.ends_at AS end_time FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES)
        END
    FROM jobs_internal.target_pauses AS p
    WHERE p.pause_id = @pause_id;
    IF @pause_id IS NULL
        INSERT INTO jobs_internal.target_pauses (target_id, server_name, database_name, reason, paused_at, paused_by, ends_at)
        VALUES (@target_id, @server_name, @database_name, @reason, @now, @by, @end_time);
    ELSE
        UPDATE p
        SET p.server_name = @server_name,
            p.database_name = @database_name,
            p.reason = @reason,
            p.ends_at = @end_time,
            p.paused_at = CASE WHEN @is_over = 1 THEN @now ELSE p.paused_at END,
            p.paused_by = @by
        FROM jobs_internal.target_pauses AS p
        WHERE p.pause_id = @pause_id;

    SET @audit_name = LEFT(CONCAT(@server_name, N'/', @database_name), 300);
    SET @audit_after = (
        SELECT @reason AS reason, @end_time AS end_time
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER, INCLUDE_NULL_VALUES
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_pause_target',
        @object_kind = N'Target',
        @object_name = @audit_name,
        @object_id = @target_id,
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
