-- Takes what is set aside and is to be tried again now. The caller tries it with jobs_internal.advance_part; others take it again after
-- twice the last wait, at most 15 minutes, if the caller does not come to it, or if it is refused again (DESIGN.md, "Set aside").
--
-- Parameters:
--   @term_id    The caller's term.
--   @term_guid  The term's GUID; NULL: not compared.
--   @max        Maximum number of rows, at least 1.
-- Called by: agent/set_aside.go.
-- Locks:     rows of set_asides (U, X), skipping locked rows.
-- Returns:   1: what was taken: kind, id, tried_at (for jobs_internal.advance_part; the same in each row).
-- Throws:
--   50029 an argument is missing or out of range.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.take_set_asides
    @term_id   BIGINT,
    @term_guid UNIQUEIDENTIFIER = NULL,
    @max       INT = 100,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @taken TABLE (kind NVARCHAR(10) NOT NULL, first_id BIGINT NOT NULL, PRIMARY KEY (kind, first_id));

    IF @max IS NULL OR @max < 1
        THROW 50029, N'Invalid @max of take_set_asides: want at least 1.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    BEGIN TRANSACTION;
    -- error_message is in no index, so that the locks are on the clustered keys.
    INSERT INTO @taken (kind, first_id)
    SELECT TOP (@max) z.kind, z.first_id
    FROM jobs_internal.set_asides AS z WITH (UPDLOCK, READPAST, ROWLOCK)
    LEFT JOIN jobs_internal.job_executions AS e ON e.execution_id = CASE WHEN z.kind = N'Run' THEN z.first_id END
    WHERE z.is_part = 0
        AND (z.retry_at <= @now OR z.tried_at > DATEADD(MINUTE, 1, @now) OR (e.is_active = 1 AND e.stop_requested_at > z.tried_at))
    ORDER BY z.retry_at;
    UPDATE z
    SET z.tries = z.tries + 1,
        z.tried_at = @now,
        z.retry_at = DATEADD(SECOND, CASE WHEN z.tries < 5 THEN 30 * POWER(2, z.tries) ELSE 900 END, @now)
    FROM @taken AS t
    INNER LOOP JOIN jobs_internal.set_asides AS z ON z.kind = t.kind AND z.first_id = t.first_id
    WHERE z.is_part = 0;
    COMMIT TRANSACTION;

    SELECT t.kind, t.first_id AS id, @now AS tried_at
    FROM @taken AS t
    ORDER BY t.kind, t.first_id;
    RETURN 0;
END;
