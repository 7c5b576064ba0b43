-- Reads the settings of the instance of the SAP surface.
--
-- Parameters:
--   @tenant  The tenant; the settings are those of the instance.
-- Called by: members of the role jobs_reader.
-- Locks:     nothing.
-- Returns:   one row: async_exec_timeout_seconds, sap_min_interval_seconds, sap_run_log_days.
-- Throws:
--   50097 a text is longer than its limit.
CREATE OR ALTER PROCEDURE jobs_rest.get_settings
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
        MAX(CASE WHEN x.name = N'async_exec_timeout_seconds' THEN x.value END) AS async_exec_timeout_seconds,
        MAX(CASE WHEN x.name = N'sap_min_interval_seconds' THEN x.value END) AS sap_min_interval_seconds,
        MAX(CASE WHEN x.name = N'sap_run_log_days' THEN x.value END) AS sap_run_log_days
    FROM jobs_internal.effective_settings AS x;
    RETURN 0;
END;
