-- Counts jobs of the SAP surface by their switch (E18).
--
-- Parameters:
--   @tenant  The tenant; NULL: the provider, who sees all jobs.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   one row: active, inactive.
-- Throws:
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.count_jobs
    @tenant NVARCHAR(129)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@tenant) > 256
        THROW 50097, N'Invalid @tenant: want at most 128 characters, not 129 or more.', 1;

    SELECT
        COALESCE(SUM(CASE WHEN r.active = 1 THEN 1 ELSE 0 END), 0) AS active,
        COALESCE(SUM(CASE WHEN r.active = 0 THEN 1 ELSE 0 END), 0) AS inactive
    FROM jobs_internal.rest_jobs AS r
    WHERE @tenant IS NULL
        OR r.tenant_id = @tenant
    OPTION (RECOMPILE);
    RETURN 0;
END;
