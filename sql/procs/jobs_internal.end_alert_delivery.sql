-- Records the result of an attempt to deliver. A failed attempt is repeated after 5, 10, 20, … seconds, at most 5 minutes, until the
-- delivery expires a day after its notification was made.
--
-- Parameters:
--   @delivery_id     The delivery.
--   @holder          The process that claimed it.
--   @outcome         Delivered; Failed (try again); GivenUp (do not try again); or Returned (nothing was sent, for reasons of the
--                    process: another one may try at once, and the attempt does not count).
--   @error           Why it failed.
--   @retry_after_ms  Least wait, if the receiver asked for one; at most an hour counts.
--   @delivered_by    Name of the process, for display.
-- Called by: agent/alerts/deliver.go, in agents and fronts.
-- Locks:     the delivery (X).
-- Returns:   0.
-- Throws:
--   50029 an argument is missing or out of range.
CREATE OR ALTER PROCEDURE jobs_internal.end_alert_delivery
    @delivery_id    BIGINT,
    @holder         UNIQUEIDENTIFIER,
    @outcome        NVARCHAR(20),
    @error          NVARCHAR(2000) = NULL,
    @retry_after_ms INT = NULL,
    @delivered_by   NVARCHAR(256) = NULL,
    @now            DATETIME2(7) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET IMPLICIT_TRANSACTIONS OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @now = COALESCE(@now, SYSUTCDATETIME());
    DECLARE @wait INT = CASE WHEN @retry_after_ms > 3600000 THEN 3600 ELSE (COALESCE(@retry_after_ms, 0) + 999) / 1000 END;

    IF @delivery_id IS NULL OR @holder IS NULL OR @outcome IS NULL
        OR @outcome NOT IN (N'Delivered', N'Failed', N'GivenUp', N'Returned')
        THROW 50029, N'Invalid arguments of end_alert_delivery: want an id, a holder, and Delivered, Failed, GivenUp or Returned.', 1;

    IF @outcome = N'Delivered'
    BEGIN
        -- Also if the lease has passed or the delivery was canceled meanwhile: it was delivered.
        UPDATE d
        SET d.state = N'Delivered',
            d.next_attempt_at = NULL,
            d.delivered_at = @now,
            d.delivered_by = @delivered_by,
            d.last_error = NULL,
            d.leased_by = NULL,
            d.leased_until = NULL
        FROM jobs_internal.alert_deliveries AS d
        WHERE d.delivery_id = @delivery_id
            AND d.state IN (N'Pending', N'Canceled');
        RETURN 0;
    END;
    UPDATE d
    SET d.state = CASE WHEN @outcome = N'GivenUp' THEN N'Failed' ELSE d.state END,
        d.attempts = CASE WHEN @outcome = N'Returned' THEN d.attempts - 1 ELSE d.attempts END,
        d.next_attempt_at = CASE
            WHEN @outcome = N'GivenUp' THEN NULL
            WHEN @outcome = N'Returned' THEN @now
            ELSE DATEADD(SECOND, CASE WHEN w.seconds > @wait THEN w.seconds ELSE @wait END, @now)
        END,
        d.last_error = COALESCE(@error, d.last_error),
        d.leased_by = NULL,
        d.leased_until = NULL
    FROM jobs_internal.alert_deliveries AS d
    CROSS APPLY (SELECT CASE WHEN d.attempts > 6 THEN 300 ELSE 5 * POWER(2, d.attempts - 1) END AS seconds) AS w
    WHERE d.delivery_id = @delivery_id
        AND d.state = N'Pending'
        AND d.leased_by = @holder;
    RETURN 0;
END;
