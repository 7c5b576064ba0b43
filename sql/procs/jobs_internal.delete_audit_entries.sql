-- Deletes entries of the audit log that are older than the setting audit_retention_days. Each batch is a transaction of its own, outside
-- of a caller's transaction.
--
-- Parameters:
--   @until      No further batch of 1,000 begins after this time; NULL: there is one batch.
--   @remaining  Receives 1 if entries may be left because of @until.
--   @now        The time.
-- Called by: jobs_internal.purge_history.
-- Locks:     the entries (X), skipping locked rows.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.delete_audit_entries
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
    DECLARE @last BIGINT;

    -- The oldest entries have the lowest keys. Only the first 1,000 are examined, so a log without old entries costs the same at any size.
    SET @remaining = 0;
    WHILE @rows > 0 AND @remaining = 0
    BEGIN
        SELECT @last = MAX(f.entry_id)
        FROM (
            SELECT TOP (1000) a.entry_id
            FROM jobs_internal.audit_entries AS a
            ORDER BY a.entry_id
        ) AS f;
        -- rows: 1,000, because @last is the 1,000th key
        DELETE a
        FROM jobs_internal.audit_entries AS a WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
        WHERE a.entry_id <= @last
            AND a.at < @oldest;
        SET @rows = @@ROWCOUNT;
        IF @rows > 0 AND (@until IS NULL OR SYSUTCDATETIME() >= @until)
            SET @remaining = 1;
    END;
    RETURN 0;
END;
