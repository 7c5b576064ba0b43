-- Ends the pause of the control database. Its present place (server, name, recovery fork) counts as known from then on. Without
-- @skip_until, the catch-up policy of each schedule decides about the instants that it has missed.
--
-- Parameters:
--   @skip_until  Instants of schedules before this time (UTC) are not run, and are recorded as skipped when they would have fired, also
--                those that wait for an earlier run; instants of backfills are run. NULL: none is skipped for this reason. The time of an
--                earlier call holds on if it is later, unless it has not passed yet: then a call with another time corrects it.
-- Called by: members of the role jobs_admin.
-- Locks:     see jobs_internal.check_place; the row of the job agent (X); an insert into audit_entries.
-- Job agent: in each state: the pause is another switch than the state.
-- Returns:   0.
-- Throws:
--   50136 the caller has a transaction.
CREATE OR ALTER PROCEDURE jobs.sp_resume_control_database
    @skip_until DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @caller NVARCHAR(128) = (SELECT c.short_name FROM jobs_internal.current_caller AS c);
    DECLARE @audit_before NVARCHAR(MAX);
    DECLARE @audit_after NVARCHAR(MAX);

    IF @@TRANCOUNT > 0
        THROW 50136, N'The control database is not paused or resumed inside a transaction: passes would wait for it. Commit first.', 1;

    BEGIN TRANSACTION;

    SET @audit_before = (
        SELECT a.paused_at, a.paused_by, a.pause_reason, a.skip_until
        FROM jobs_internal.job_agent AS a
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.check_place @accept = 1;
    -- An earlier @skip_until holds on: its instants may not have been recorded yet. One that lies in the future, such as a wrong year, is
    -- replaced.
    UPDATE a
    SET a.paused_at = NULL,
        a.paused_by = NULL,
        a.pause_reason = NULL,
        a.skip_until = CASE
            WHEN a.skip_until IS NULL OR @skip_until > a.skip_until OR (a.skip_until > @now AND @skip_until IS NOT NULL) THEN @skip_until
            ELSE a.skip_until
        END
    FROM jobs_internal.job_agent AS a
    WHERE a.id = 1;
    SET @audit_after = (
        SELECT a.paused_at, a.paused_by, a.pause_reason, a.skip_until
        FROM jobs_internal.job_agent AS a
        FOR JSON PATH, WITHOUT_ARRAY_WRAPPER
    );
    EXECUTE jobs_internal.audit
        @action = N'sp_resume_control_database',
        @object_kind = N'ControlDatabase',
        @before = @audit_before,
        @after = @audit_after,
        @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
