-- Deletes parameters to which no run and no schedule refers.
--
-- Parameters:
--   @payload_id  The row to look at; NULL: all rows that nothing refers to, in batches of 1,000.
--   @deleted     Receives the number of deleted rows.
--   @until       No further batch begins after this time; NULL: there is one batch.
--   @remaining   Receives 1 if rows may be left because of @until.
-- Called by: jobs_internal.delete_leftovers, with the parameters of a run that it has deleted; jobs_internal.purge_history.
-- Locks:     rows of payloads (X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_payloads
    @payload_id BIGINT = NULL,
    @deleted    INT = NULL OUTPUT,
    @until      DATETIME2(7) = NULL,
    @remaining  BIT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @unused TABLE (payload_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (payload_id BIGINT NOT NULL PRIMARY KEY, created_at DATETIME2(7) NOT NULL);

    DECLARE @found INT = 1000;
    DECLARE @rows INT = 1;

    SET @deleted = 0;
    SET @remaining = 0;
    -- A batch of which nothing could be deleted is the last one: other transactions hold its rows.
    WHILE @found = 1000 AND @rows > 0 AND @remaining = 0
    BEGIN
        DELETE u
        FROM @unused AS u;
        DELETE l
        FROM @locked AS l;
        IF @payload_id IS NULL
            -- Plan: a scan of IX_payloads_hash, and three keys for each row.
            INSERT INTO @unused (payload_id)
            SELECT TOP (1000) p.payload_id
            FROM jobs_internal.payloads AS p
            WHERE NOT EXISTS (
                SELECT 1
                FROM jobs_internal.job_executions AS e
                WHERE e.payload_id = p.payload_id
                    AND e.payload_id IS NOT NULL
            )
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.schedules AS s
                    WHERE s.payload_id = p.payload_id
                        AND s.payload_id IS NOT NULL
                )
                AND NOT EXISTS (
                    SELECT 1
                    FROM jobs_internal.schedules AS r
                    WHERE r.run_payload_id = p.payload_id
                        AND r.run_payload_id IS NOT NULL
                );
        ELSE
            INSERT INTO @unused (payload_id)
            VALUES (@payload_id);
        SET @found = @@ROWCOUNT;

        BEGIN TRANSACTION;
        -- A row is locked before it is checked again: a session that is about to refer to it holds a lock on it. created_at is in no
        -- index, so the locks are on the clustered keys.
        INSERT INTO @locked (payload_id, created_at)
        SELECT p.payload_id, p.created_at
        FROM @unused AS u
        INNER LOOP JOIN jobs_internal.payloads AS p WITH (XLOCK, READPAST, ROWLOCK) ON p.payload_id = u.payload_id;
        DELETE p
        FROM @locked AS l
        INNER LOOP JOIN jobs_internal.payloads AS p ON p.payload_id = l.payload_id
        WHERE NOT EXISTS (
            SELECT 1
            FROM jobs_internal.job_executions AS e
            WHERE e.payload_id = p.payload_id
                AND e.payload_id IS NOT NULL
        )
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.schedules AS s
                WHERE s.payload_id = p.payload_id
                    AND s.payload_id IS NOT NULL
            )
            AND NOT EXISTS (
                SELECT 1
                FROM jobs_internal.schedules AS r
                WHERE r.run_payload_id = p.payload_id
                    AND r.run_payload_id IS NOT NULL
            );
        SET @rows = @@ROWCOUNT;
        SET @deleted = @deleted + @rows;
        COMMIT TRANSACTION;
        IF @found = 1000 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    RETURN 0;
END;
