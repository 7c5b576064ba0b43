-- Extends a term from the present time, also if it has expired and no pass has ended it (jobs_internal.begin_pass).
--
-- Parameters:
--   @term_id      The term.
--   @ttl_seconds  Time from now to the expiry; at least 1.
--   @term_guid    The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/lease.go, three times per lease.
-- Locks:     the term's row (X). Rows of other terms that are locked are not counted: a renewal waits for nobody.
-- Returns:   one row: expires_at, live_agents (the terms that last, with this one; an earlier release reads expires_at only).
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended, or is another one of the same number.
CREATE OR ALTER PROCEDURE jobs_internal.renew_term
    @term_id     BIGINT,
    @ttl_seconds INT,
    @term_guid   UNIQUEIDENTIFIER = NULL,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @message NVARCHAR(2048);
    DECLARE @expires_at DATETIME2(7) = DATEADD(SECOND, @ttl_seconds, @now);

    IF @ttl_seconds IS NULL OR @ttl_seconds < 1
        THROW 50029, N'Invalid @ttl_seconds of renew_term: want at least 1.', 1;

    UPDATE t
    SET t.expires_at = @expires_at,
        t.lease_seconds = @ttl_seconds
    FROM jobs_internal.terms AS t
    WHERE t.term_id = @term_id
        AND t.ended_at IS NULL
        AND (@term_guid IS NULL OR t.term_guid = @term_guid); -- plan: the row is found by term_id
    IF @@ROWCOUNT = 0
    BEGIN
        SET @message = REPLACE(CONCAT(N'The term ', @term_id, N' has ended.'), N'%', N'%%');
        THROW 50201, @message, 1;
    END;

    -- Plan: the terms that last, of IX_terms_expires_at.
    SELECT
        @expires_at AS expires_at,
        COUNT(*) AS live_agents
    FROM jobs_internal.terms AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    WHERE t.ended_at IS NULL
        AND t.expires_at > @now;
    RETURN 0;
END;
