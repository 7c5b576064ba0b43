-- Reads the parameters of a run. The text of an id never changes, so agents may cache it.
--
-- Parameters:
--   @payload_id  The parameters.
-- Called by: agent/task_host.go, once per set of parameters and agent.
-- Locks:     nothing.
-- Returns:   one row: text, a JSON object.
-- Throws:
--   50149 the parameters do not exist.
CREATE OR ALTER PROCEDURE jobs_internal.get_payload
    @payload_id BIGINT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @message NVARCHAR(2048);
    DECLARE @text NVARCHAR(MAX);

    SELECT @text = p.text
    FROM jobs_internal.payloads AS p
    WHERE p.payload_id = @payload_id;
    IF @text IS NULL
    BEGIN
        SET @message = REPLACE(CONCAT(N'The parameters ', @payload_id, N' do not exist.'), N'%', N'%%');
        THROW 50149, @message, 1;
    END;
    SELECT @text AS text;
    RETURN 0;
END;
