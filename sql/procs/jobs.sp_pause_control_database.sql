-- Pauses the whole control database, with or without a job agent: no schedule fires, no run starts, no waiting run begins, and agents claim
-- nothing. Attempts in flight end and are recorded; runs can be stopped, and definitions changed. Pausing again with a reason changes the
-- reason; but that the database was restored, and what to do then, stays in it.
--
-- Parameters:
--   @reason  Why, for display. NULL: none, or that of the pause that lasts.
-- Called by: members of the role jobs_admin.
-- Locks:     see jobs_internal.check_place; the row of the job agent (X); an insert into audit_entries.
-- Job agent: in each state: it starts nothing.
-- Returns:   0.
-- Throws:
--   50097 a text is longer than its limit.
--   50136 the caller has a transaction.
CREATE OR ALTER PROCEDURE jobs.sp_pause_control_database
    @reason NVARCHAR(2001) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @found NVARCHAR(1000);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF @@TRANCOUNT > 0
        THROW 50136, N'The control database is not paused or resumed inside a transaction: passes would wait for it. Commit first.', 1;
    IF DATALENGTH(@reason) > 4000
        THROW 50097, N'Invalid @reason: want at most 2000 characters, not 2001 or more.', 1;

    BEGIN TRANSACTION;

    SET @audit_before = (
        SELECT a.paused_at, a.paused_by, a.pause_reason
        FROM jobs_internal.job_agent AS a
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.check_place @found = @found OUTPUT;
    UPDATE a
    SET a.paused_at = COALESCE(a.paused_at, @now),
        a.paused_by = @caller,
        a.pause_reason = CASE
            WHEN @reason IS NULL AND a.pause_reason IS NOT NULL THEN a.pause_reason
            WHEN @found IS NOT NULL THEN CAST(CONCAT(@found, N'. ' + @reason) AS NVARCHAR(2000))
            ELSE @reason
        END
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    SET @audit_after = (
        SELECT a.paused_at, a.paused_by, a.pause_reason
        FROM jobs_internal.job_agent AS a
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_pause_control_database',
        @object_kind = N'ControlDatabase',
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
