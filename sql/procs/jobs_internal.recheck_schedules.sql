-- Requests a new validation of schedules that another engine has validated. Other time zone rules may move their
-- instants (D-Z1), and another program may accept a Faulted text or reject a valid one, also in UTC. The schedules keep
-- their due instants until then. One call covers at most 2,000 schedules and skips those that another transaction
-- holds; call it until remaining is 0.
--
-- Parameters:
--   @term_id    The caller's term.
--   @engine     The present engine: program and time zone data.
--   @term_guid  The term's GUID; NULL: an agent of an earlier release, not compared.
-- Called by: agent/scheduler.go, at the start of a term.
-- Locks:     the schedules validated by another engine (U, X), in the order of their keys, skipping locked rows.
-- Returns:   one row: rechecked, the number of schedules; remaining, 1 if more are left.
-- Throws:
--   50029 the engine is missing.
--   50201 the term has ended.
--   50204 the control database has another incarnation than the term.
CREATE OR ALTER PROCEDURE jobs_internal.recheck_schedules
    @term_id   BIGINT,
    @engine    NVARCHAR(128),
    @term_guid UNIQUEIDENTIFIER = NULL,
    @now       DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @rechecked INT = 0;
    DECLARE @remaining INT;
    DECLARE @wanted TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (schedule_id BIGINT NOT NULL PRIMARY KEY, revision INT NOT NULL);

    IF @engine IS NULL OR LTRIM(@engine) = N''
        THROW 50029, N'Missing @engine of recheck_schedules.', 1;
    EXECUTE jobs_internal.check_term @term_id = @term_id, @term_guid = @term_guid;

    -- One more than may be changed, to determine whether more are left. Most terms find none.
    INSERT INTO @wanted (schedule_id)
    SELECT TOP (2001) s.schedule_id
    FROM jobs_internal.schedules AS s
    WHERE s.spec IS NOT NULL
        AND s.awaits_verdict = 0
        AND s.engine <> @engine
        AND s.state IN (N'Enabled', N'Faulted');
    SET @remaining = @@ROWCOUNT;
    IF @remaining > 0
    BEGIN
        BEGIN TRANSACTION;
        INSERT INTO @locked (schedule_id, revision)
        SELECT TOP (2000) s.schedule_id, s.revision
        FROM @wanted AS w
        INNER LOOP JOIN jobs_internal.schedules AS s WITH (UPDLOCK, READPAST, ROWLOCK) ON s.schedule_id = w.schedule_id
        ORDER BY w.schedule_id;
        UPDATE s
        SET s.awaits_verdict = 1
        FROM @locked AS l
        INNER LOOP JOIN jobs_internal.schedules AS s ON s.schedule_id = l.schedule_id
        WHERE s.awaits_verdict = 0
            AND s.engine <> @engine
            AND s.state IN (N'Enabled', N'Faulted');
        SET @rechecked = @@ROWCOUNT;
        COMMIT TRANSACTION;
        SET @remaining = @remaining - (SELECT COUNT(*) FROM @locked AS l);
    END;

    SELECT
        @rechecked AS rechecked,
        CAST(CASE WHEN @remaining > 0 THEN 1 ELSE 0 END AS BIT) AS remaining;
    RETURN 0;
END;
