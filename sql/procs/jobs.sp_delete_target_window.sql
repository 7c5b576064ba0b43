-- Deletes a window of databases. What waited for it is due with the next passes of agents.
--
-- Parameters:
--   @window_name  Name of the window.
-- Called by: members of the role jobs_author.
-- Locks:     the window's row (U, X), the row of window_state (X); an insert into audit_entries.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50145 the window does not exist.
--   50183 the job agent is Disabled, Faulted or being deleted, or was deleted.
--   50461 the window has no name, no calendar, or not one of a database and a filter of tags.
CREATE OR ALTER PROCEDURE jobs.sp_delete_target_window
    @window_name NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @message NVARCHAR(2048);
    DECLARE @created_at DATETIME2(7);
    DECLARE @audit_before NVARCHAR(MAX);

    IF DATALENGTH(@window_name) > 256
        THROW 50097, N'Invalid @window_name: want at most 128 characters, not 129 or more.', 1;
    IF @window_name IS NULL OR LTRIM(@window_name) = N''
        THROW 50461, N'Missing window name: @window_name is NULL or empty.', 1;

    BEGIN TRANSACTION;
    EXECUTE jobs_internal.check_job_agent;
    -- before the windows, as jobs.sp_set_target_tags reads them
    UPDATE v
    SET v.revision = v.revision + 1,
        v.changed_at = @now
    FROM jobs_internal.window_state AS v
    WHERE v.id = 1;
    -- index: UQ_target_windows_name, in which another session may insert the same name
    SELECT @created_at = w.created_at
    FROM jobs_internal.target_windows AS w WITH (UPDLOCK, HOLDLOCK)
    WHERE w.name = @window_name;
    IF @created_at IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(
            N'The window ''', @window_name, N''' does not exist. The view jobs.target_windows lists all windows of databases.'
        ), N'%', N'%%');
        THROW 50145, @message, 1;
    END;
    EXECUTE jobs_internal.state_of_target_window @window_name = @window_name, @state = @audit_before OUTPUT;
    DELETE w
    FROM jobs_internal.target_windows AS w
    WHERE w.name = @window_name;

    EXECUTE jobs_internal.audit
        @action = N'sp_delete_target_window',
        @object_kind = N'TargetWindow',
        @object_name = @window_name,
        @before = @audit_before,
        @now = @now;
    COMMIT TRANSACTION;
    RETURN 0;
END;
