-- Ends a term. Tasks that it still holds are handed over with an unknown outcome.
--
-- Parameters:
--   @term_id     The term.
--   @term_guid   The term's GUID; NULL: an agent of an earlier release, not compared.
--   @hands_over  0: the next passes hand the tasks over, because the control database has refused to store something about one of them.
-- Called by: agent/lease.go, when the agent stops.
-- Locks:     the term's row (X) and its tasks (X).
-- Returns:   0.
-- Throws:
--   50201 the term has ended, or is another one of the same number.
CREATE OR ALTER PROCEDURE jobs_internal.end_term
    @term_id    BIGINT,
    @term_guid  UNIQUEIDENTIFIER = NULL,
    @hands_over BIT = 1,
    @now        DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @message NVARCHAR(2048);

    BEGIN TRANSACTION;

    UPDATE t
    SET t.ended_at = @now,
        t.end_reason = N'Ended'
    FROM jobs_internal.terms AS t
    WHERE t.term_id = @term_id
        AND t.ended_at IS NULL
        AND (@term_guid IS NULL OR t.term_guid = @term_guid); -- plan: the row is found by term_id
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(N'The term ', @term_id, N' has ended.'), N'%', N'%%');
        THROW 50201, @message, 1;
    END;
    IF @hands_over = 1
        EXECUTE jobs_internal.hand_over @now = @now;

    COMMIT TRANSACTION;
    RETURN 0;
END;
