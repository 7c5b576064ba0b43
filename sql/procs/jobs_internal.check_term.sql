-- Checks that a term has neither ended nor expired.
--
-- Parameters:
--   @term_id   The term.
--   @protocol  Receives the protocol of its agent; see the view jobs_internal.agent_protocols.
--   @now       The time of the check.
-- Called by: the procedures that agents call.
-- Locks:     nothing.
-- Returns:   0.
-- Throws:
--   50201 the term has ended or expired.
CREATE OR ALTER PROCEDURE jobs_internal.check_term
    @term_id  BIGINT,
    @protocol INT = NULL OUTPUT,
    @now      DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @message NVARCHAR(2048);

    SET @protocol = NULL;
    SELECT @protocol = t.protocol
    FROM jobs_internal.terms AS t
    WHERE t.term_id = @term_id
        AND t.ended_at IS NULL
        AND t.expires_at > @now;
    IF @protocol IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The term ', @term_id, N' has ended or expired.'), N'%', N'%%');
        THROW 50201, @message, 1;
    END;
    RETURN 0;
END;
