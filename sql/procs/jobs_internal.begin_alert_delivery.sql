-- Permits the holder of a delivery to send, right before the first byte. It does not, if the lease has passed, or the delivery has been
-- canceled because its alert was acknowledged: so nothing is sent about an alert after its acknowledgement.
--
-- Parameters:
--   @delivery_id  The delivery.
--   @holder       The process that claimed it.
--   @permitted    Receives 1: send now. 0: do not send.
-- Called by: agent/alerts/deliver.go, in agents and fronts.
-- Locks:     the delivery (X).
-- Returns:   0.
-- Throws:
--   50029 an argument is missing.
CREATE OR ALTER PROCEDURE jobs_internal.begin_alert_delivery
    @delivery_id BIGINT,
    @holder      UNIQUEIDENTIFIER,
    @permitted   BIT = NULL OUTPUT,
    @now         DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());

    IF @delivery_id IS NULL OR @holder IS NULL
        THROW 50029, N'Invalid arguments of begin_alert_delivery: a value is missing.', 1;
    -- An acknowledgement changes the row before it commits: this waits for it.
    UPDATE d
    SET d.send_began_at = @now
    FROM jobs_internal.alert_deliveries AS d
    WHERE d.delivery_id = @delivery_id
        AND d.state = N'Pending'
        AND d.leased_by = @holder
        AND d.leased_until > @now;
    SET @permitted = @@ROWCOUNT;
    RETURN 0;
END;
