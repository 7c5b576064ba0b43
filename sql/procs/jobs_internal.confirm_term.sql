-- Finds out without writing whether a term lasts for a whole lease from now on, although it cannot be renewed: the control database
-- can be read and not written, for example because its log is full. It does if nobody has advanced for more than five seconds: then
-- the next pass finds this gap, and ends no term before a lease has passed since (jobs_internal.begin_pass). See DESIGN.md, "Gaps".
--
-- The row of advance_state stays locked until the term has been read, so no pass is between its decision and its commit. A pass that
-- holds the row may have ended the term, so the row is skipped, and the term is not confirmed. A readable secondary shows the past:
-- it confirms nothing (https://learn.microsoft.com/azure/azure-sql/database/read-scale-out, "Verify that a connection is to a
-- read-only replica").
--
-- Parameters:
--   @term_id    The term.
--   @term_guid  The term's GUID; NULL: not compared.
-- Called by: agent/lease.go, when a renewal has failed.
-- Locks:     the row of advance_state (U), without waiting.
-- Returns:   one row: is_confirmed (1: the term lasts for its lease from the time of the call on).
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.confirm_term
    @term_id   BIGINT,
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @is_gap BIT = 0;
    DECLARE @lasts BIT = 0;

    BEGIN TRANSACTION;

    -- past: a pass that holds the row may have ended the term
    SELECT @is_gap = 1
    FROM jobs_internal.advance_state AS a WITH (UPDLOCK, READPAST, ROWLOCK)
    WHERE a.id = 1
        AND a.last_advanced_at < DATEADD(SECOND, -5, @now)
        AND a.gaps < 3;
    SELECT @lasts = 1
    FROM jobs_internal.terms AS t
    WHERE t.term_id = @term_id
        AND t.ended_at IS NULL
        AND (@term_guid IS NULL OR t.term_guid = @term_guid); -- plan: the row is found by term_id

    COMMIT TRANSACTION;
    SELECT CAST(CASE
        WHEN @is_gap = 1 AND @lasts = 1 AND CAST(DATABASEPROPERTYEX(DB_NAME(), N'Updateability') AS NVARCHAR(128)) = N'READ_WRITE' THEN 1
        ELSE 0
    END AS BIT) AS is_confirmed;
    RETURN 0;
END;
