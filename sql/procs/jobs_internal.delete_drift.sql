-- Deletes what is left of steps of type Drift: with what steps that have ended were compared, rows of the history of databases that ended
-- longer ago than the setting audit_retention_days, and schemas to which nothing refers any more. Each batch is a transaction of its own.
--
-- Parameters:
--   @until      No further batch of 1,000 begins after this time; NULL: there is one batch.
--   @remaining  Receives 1 if rows may be left because of @until.
--   @now        The time.
-- Called by: jobs_internal.purge_history.
-- Locks:     rows of drift_references, drift_states and drift_schemas (X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_drift
    @until     DATETIME2(7) = NULL,
    @remaining BIT = NULL OUTPUT,
    @now       DATETIME2(7)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @oldest DATETIME2(7) = DATEADD(
        DAY,
        -(SELECT x.value FROM jobs_internal.effective_settings AS x WHERE x.name = N'audit_retention_days'),
        @now
    );
    DECLARE @rows INT = 1;
    DECLARE @unused TABLE (
        fingerprint BINARY(32) NOT NULL,
        options     NVARCHAR(300) COLLATE Latin1_General_100_BIN2 NOT NULL,
        PRIMARY KEY (fingerprint, options)
    );

    SET @remaining = 0;
    -- Plan: a scan of few rows, since those of ended steps are deleted each night.
    WHILE @rows > 0 AND @remaining = 0
    BEGIN
        DELETE TOP (1000) r
        FROM jobs_internal.drift_references AS r WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
        WHERE NOT EXISTS (
            SELECT 1
            FROM jobs_internal.step_executions AS s
            WHERE s.step_execution_id = r.step_execution_id
                AND s.is_active = 1
        );
        SET @rows = @@ROWCOUNT;
        IF @rows > 0 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    -- Plan: a scan; the table has a row for each database, and one for each of its changes.
    SET @rows = 1;
    WHILE @rows > 0 AND @remaining = 0
    BEGIN
        DELETE TOP (1000) d
        FROM jobs_internal.drift_states AS d WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
        WHERE d.last_seen_at < @oldest;
        SET @rows = @@ROWCOUNT;
        IF @rows > 0 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    -- A schema is kept for a day, because nothing refers to it while it is being recorded. One to which something refers since it was
    -- found here is added again when its database is read. Plan: a scan, and a key of IX_drift_states_fingerprint for each row.
    SET @rows = 1;
    WHILE @rows > 0 AND @remaining = 0
    BEGIN
        DELETE u
        FROM @unused AS u;
        INSERT INTO @unused (fingerprint, options)
        SELECT TOP (1000) d.fingerprint, d.options
        FROM jobs_internal.drift_schemas AS d
        WHERE d.created_at < DATEADD(DAY, -1, @now)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.drift_states AS s WHERE s.fingerprint = d.fingerprint)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.drift_baselines AS b WHERE b.fingerprint = d.fingerprint)
            AND NOT EXISTS (SELECT 1 FROM jobs_internal.drift_references AS r WHERE r.fingerprint = d.fingerprint);
        DELETE d
        FROM @unused AS u
        INNER LOOP JOIN jobs_internal.drift_schemas AS d WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
            ON d.fingerprint = u.fingerprint AND d.options = u.options;
        SET @rows = @@ROWCOUNT;
        IF @rows > 0 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    RETURN 0;
END;
