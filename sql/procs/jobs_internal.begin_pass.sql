-- Decides whether this pass may end terms that have expired. It may not for a lease after a gap: a time of more than five seconds in
-- which no pass has advanced. Then nobody could write, so nobody could renew, or the clock has jumped ahead, or no agent was at work.
-- In the first two cases the agents and their scripts go on (DESIGN.md, "Gaps"). A clock that jumped back is put right by
-- jobs_internal.turn_back.
--
-- The caller keeps the row of advance_state locked until its transaction ends, and the time is read after the lock. So
-- jobs_internal.confirm_term reads this row either before this pass, which then finds the same gap, or after its end.
--
-- After three gaps in succession that have kept a term from ending, terms end in spite of a gap, as they must if passes are always
-- far apart.
--
-- Parameters:
--   @at         Receives the time of the pass.
--   @may_end    Receives 1: terms that have expired may end.
--   @turned_at  Receives what the clock showed before it jumped back by more than five seconds; NULL: it did not.
--   @now        For tests only; NULL: the clock.
-- Called by: jobs_internal.controller_pass, jobs_internal.advance_job_agent, within a transaction that holds the application lock
--            jobagent.advance.
-- Locks:     the row of advance_state (U, X).
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.begin_pass
    @at        DATETIME2(7) OUTPUT,
    @may_end   BIT OUTPUT,
    @turned_at DATETIME2(7) OUTPUT,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @advanced_at DATETIME2(7);
    DECLARE @terms_until DATETIME2(7);
    DECLARE @gaps INT;
    DECLARE @has_expired BIT = 0;
    DECLARE @lease INT; -- the longest, in seconds

    SELECT @advanced_at = a.last_advanced_at, @terms_until = a.terms_until, @gaps = a.gaps
    FROM jobs_internal.advance_state AS a WITH (UPDLOCK, ROWLOCK)
    WHERE a.id = 1;
    SET @at = COALESCE(@now, SYSUTCDATETIME());
    SET @turned_at = CASE WHEN @advanced_at > DATEADD(SECOND, 5, @at) THEN @advanced_at END;

    -- Plan: the first key of IX_terms_expires_at.
    IF EXISTS (
        SELECT 1
        FROM jobs_internal.terms AS t
        WHERE t.ended_at IS NULL
            AND t.expires_at <= @at
    )
        SET @has_expired = 1;
    IF (@advanced_at < DATEADD(SECOND, -5, @at) AND @gaps < 3) OR @turned_at IS NOT NULL
    BEGIN
        SELECT @lease = MAX(COALESCE(t.lease_seconds, 60))
        FROM jobs_internal.terms AS t
        WHERE t.ended_at IS NULL;
        SET @terms_until = DATEADD(SECOND, COALESCE(@lease, 0), @at);
        UPDATE a
        SET a.terms_until = @terms_until,
            a.gaps = CASE WHEN @has_expired = 1 THEN @gaps + 1 ELSE 0 END
        FROM jobs_internal.advance_state AS a
        WHERE a.id = 1;
    END;
    ELSE IF @gaps > 0 AND @has_expired = 0
        UPDATE a
        SET a.gaps = 0
        FROM jobs_internal.advance_state AS a
        WHERE a.id = 1;
    SET @may_end = CASE WHEN @has_expired = 1 AND @terms_until <= @at THEN 1 ELSE 0 END;
    RETURN 0;
END;
