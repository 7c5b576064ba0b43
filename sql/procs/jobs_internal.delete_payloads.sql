-- Deletes parameters to which no run and no schedule refers.
--
-- Parameters:
--   @payload_id  The row to look at; NULL: up to 1,000 rows that nothing refers to.
--   @deleted     Receives the number of deleted rows.
-- Called by: jobs_internal.delete_leftovers, with the parameters of a run that it has deleted; jobs_internal.purge_history.
-- Locks:     rows of payloads (X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_payloads
    @payload_id BIGINT = NULL,
    @deleted    INT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @unused TABLE (payload_id BIGINT NOT NULL PRIMARY KEY);
    DECLARE @locked TABLE (payload_id BIGINT NOT NULL PRIMARY KEY, created_at DATETIME2(7) NOT NULL);

    SET @deleted = 0;
    IF @payload_id IS NULL
        -- Plan: a scan of IX_payloads_hash, and two keys for each row.
        INSERT INTO @unused (payload_id)
        SELECT TOP (1000) p.payload_id
        FROM jobs_internal.payloads AS p
        WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.payload_id = p.payload_id)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.schedules AS s WHERE s.payload_id = p.payload_id);
    ELSE
        INSERT INTO @unused (payload_id)
        VALUES (@payload_id);
    IF NOT EXISTS (SELECT 1 FROM @unused)
        RETURN 0;

    BEGIN TRANSACTION;
    -- A row is locked before it is checked again: a session that is about to refer to it holds a lock on it. created_at is in no
    -- index, so the locks are on the clustered keys.
    INSERT INTO @locked (payload_id, created_at)
    SELECT p.payload_id, p.created_at
    FROM @unused AS u
    INNER LOOP JOIN jobs_internal.payloads AS p WITH (XLOCK, READPAST, ROWLOCK) ON p.payload_id = u.payload_id;
    DELETE p
    FROM @locked AS l
    INNER JOIN jobs_internal.payloads AS p ON p.payload_id = l.payload_id
    WHERE NOT EXISTS (SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.payload_id = p.payload_id)
        AND NOT EXISTS (SELECT 1 FROM jobs_internal.schedules AS s WHERE s.payload_id = p.payload_id);
    SET @deleted = @@ROWCOUNT;
    COMMIT TRANSACTION;
    RETURN 0;
END;
