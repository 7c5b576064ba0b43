-- Stores the data of a schedule of the SAP surface. It comes before the locks on schedules, because the deletion of unused data reads
-- schedules.
--
-- Parameters:
--   @data        A JSON object of at most 102,400 characters; NULL or empty: none.
--   @payload_id  Receives its id.
-- Called by: jobs_rest.set_job, jobs_rest.add_schedule, jobs_rest.update_schedule, within their transactions.
-- Locks:     see jobs_internal.store_payload.
-- Returns:   0.
-- Throws:
--   50090 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.store_rest_data
    @data       NVARCHAR(MAX),
    @payload_id BIGINT OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    IF @data <> N'' AND (ISJSON(@data) = 0 OR LEFT(@data, 1) <> N'{' OR DATALENGTH(@data) > 204800)
        THROW 50090, N'Invalid data of a schedule: want a JSON object of at most 102400 characters.', 1;
    EXECUTE jobs_internal.store_payload @parameters = @data, @payload_id = @payload_id OUTPUT;
    RETURN 0;
END;
