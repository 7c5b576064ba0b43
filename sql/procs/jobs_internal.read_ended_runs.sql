-- Lists runs that have ended, in the order of their ends, for the export of traces. One agent at a time reads: the one whose term holds
-- the row of trace_state.
--
-- A run can become visible later than another one that ended after it: its transaction took longer. So the reader passes as
-- @read_through an instant some minutes ago, reads from there again from time to time, and remembers what it has read since.
--
-- After the clock was set back, a hold that would last longer than any other has ended, and what was read through in the future is read
-- from ten minutes before @now on.
--
-- Parameters:
--   @term_id       The reader's term.
--   @hold_seconds  How long the term keeps the reading without another call; 1 to 3600.
--   @read_through  All runs that ended before this instant have been read; NULL: no change.
--   @from          List runs that ended at this instant or later; NULL: from the stored read_through on.
--   @after_id      With @from: of the runs that ended at this instant, only those with a larger execution_id.
--   @max           Maximum number of runs; at least 1.
-- Called by: agent/trace_feed.go, if the agent exports traces.
-- Locks:     the row of trace_state (X), unless nothing of it changes.
-- Returns:   1: one row: held (1: the term reads), now, read_through.
--            2: execution_id, job_execution_id, end_time; nothing if another term reads. The first call of all lists nothing of before.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.read_ended_runs
    @term_id      BIGINT,
    @hold_seconds INT = 30,
    @read_through DATETIME2(7) = NULL,
    @from         DATETIME2(7) = NULL,
    @after_id     BIGINT = NULL,
    @max          INT = 1000,
    @now          DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @holder BIGINT;
    DECLARE @held_until DATETIME2(7);
    DECLARE @stored DATETIME2(7);
    DECLARE @latest DATETIME2(7);
    DECLARE @held BIT = 0;

    IF @term_id IS NULL OR @hold_seconds IS NULL OR @hold_seconds < 1 OR @hold_seconds > 3600 OR @max IS NULL OR @max < 1
        THROW 50029, N'Invalid argument of read_ended_runs: want a term, 1 to 3600 seconds, and at least 1 run.', 1;

    SELECT
        @holder = s.term_id,
        @held_until = s.held_until,
        @stored = s.read_through
    FROM jobs_internal.trace_state AS s
    WHERE s.id = 1;

    -- No hold lasts for more than an hour. A call that overlaps this one may have a later time.
    SET @latest = DATEADD(MINUTE, 61, @now);
    -- Most calls write nothing.
    IF @holder = @term_id AND @stored <= DATEADD(MINUTE, 1, @now) AND @read_through IS NULL
        AND @held_until > DATEADD(SECOND, @hold_seconds / 2, @now)
        AND @held_until <= @latest
        SET @held = 1;
    ELSE IF @holder IS NULL OR @holder = @term_id OR @held_until <= @now OR @held_until > @latest
    BEGIN
        -- It moves back only after the clock: the former holder may have read further.
        SET @stored = CASE
            WHEN @stored > DATEADD(MINUTE, 1, @now) THEN DATEADD(MINUTE, -10, @now)
            WHEN @stored > @read_through THEN @stored
            ELSE COALESCE(@read_through, @stored, @now)
        END;
        UPDATE s
        SET s.term_id = @term_id,
            s.held_until = DATEADD(SECOND, @hold_seconds, @now),
            s.read_through = @stored
        FROM jobs_internal.trace_state AS s
        WHERE s.id = 1
            AND (s.term_id IS NULL OR s.term_id = @term_id OR s.held_until <= @now OR s.held_until > @latest);
        SET @held = CASE WHEN @@ROWCOUNT = 1 THEN 1 ELSE 0 END;
    END;

    SELECT
        @held AS held,
        @now AS now,
        @stored AS read_through;

    SET @after_id = CASE WHEN @from IS NULL THEN 0 ELSE COALESCE(@after_id, 0) END;
    SET @from = COALESCE(@from, @stored);
    -- Plan: a range of IX_job_executions_end_time.
    SELECT TOP (@max)
        e.execution_id,
        e.job_execution_id,
        e.end_time
    FROM jobs_internal.visible_runs AS e
    WHERE e.is_active = 0
        AND e.end_time >= @from
        AND (e.end_time > @from OR e.execution_id > @after_id)
        AND @held = 1
    ORDER BY e.end_time, e.execution_id;
    RETURN 0;
END;
