-- Stores parameters, unless a row has the same text already.
--
-- Parameters:
--   @parameters  A JSON object that jobs_internal.check_parameters has accepted; NULL or empty: none.
--   @payload_id  Receives the id of the text; NULL: none.
-- Called by: jobs.sp_start_job, jobs_internal.store_schedule, jobs.sp_rerun_job_execution,
--            jobs_internal.complete_schedules, within their transactions.
-- Locks:     the row with the text (S), so that it is not deleted before the transaction's end; or an insert into payloads.
-- Returns:   0.
-- Throws:    nothing.
CREATE OR ALTER PROCEDURE jobs_internal.store_payload
    @parameters NVARCHAR(MAX),
    @payload_id BIGINT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
    DECLARE @hash BINARY(32);
    DECLARE @created_at DATETIME2(7);
    DECLARE @found BIGINT;

    SET @payload_id = NULL;
    IF @parameters IS NULL OR LTRIM(@parameters) = N''
        RETURN 0;

    -- READPAST: a row that another transaction inserts or deletes is not used. Nobody waits for anybody, and the same text
    -- may be stored twice.
    SET @hash = HASHBYTES('SHA2_256', @parameters);
    SELECT TOP (1) @found = p.payload_id
    FROM jobs_internal.payloads AS p
    WHERE p.hash = @hash
    ORDER BY p.payload_id;
    IF @found IS NOT NULL
        -- created_at is in no index, so the lock is on the clustered key.
        SELECT
            @payload_id = p.payload_id,
            @created_at = p.created_at
        FROM jobs_internal.payloads AS p WITH (REPEATABLEREAD, READPAST, ROWLOCK)
        WHERE p.payload_id = @found;
    IF @payload_id IS NULL
    BEGIN
        INSERT INTO jobs_internal.payloads (hash, text, created_at)
        VALUES (@hash, @parameters, @now);
        SET @payload_id = SCOPE_IDENTITY();
    END;
    RETURN 0;
END;
