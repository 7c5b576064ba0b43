-- Deliveries: one row for each notification and channel. Any agent or front delivers it, at least once, and never after its alert was
-- acknowledged.
--
-- Columns:
--   delivery_id      Increases over time.
--   notification_id  Public id of the delivery, the same for all its attempts (webhook-id), so that receivers can drop repetitions.
--   alert_id         The alert; NULL: a test or an event. Deleted together.
--   channel_id, channel_name  Where it is sent. No foreign key: the history outlives channels.
--   kind             Raised, Again (new events, or the repeat interval), Resolved, Test, or Event (of a run of the SAP surface).
--   title, message, occurrences, last_at  Of the alert when the notification was made: each attempt sends the same.
--   state            Pending, Delivered, Failed (given up) or Canceled (acknowledged, or nobody is to be told any more).
--   created_at       When the notification was made.
--   expires_at       When delivery is given up.
--   next_attempt_at  When the next attempt may begin; NULL unless the state is Pending.
--   attempts         Number of attempts that have begun.
--   leased_by        Holder of the current attempt; NULL: none.
--   leased_until     When another holder may take it over; NULL: it is not leased.
--   send_began_at    When a holder was last permitted to send.
--   delivered_at     When an attempt was delivered.
--   delivered_by     Process that delivered it, for display.
--   last_error       Error of the latest failed attempt; NULL: none.
--   event            Of the kind Event: a JSON object, which receivers get in place of the notification; NULL for all others.
CREATE TABLE jobs_internal.alert_deliveries (
    delivery_id     BIGINT NOT NULL IDENTITY(1, 1),
    notification_id UNIQUEIDENTIFIER NOT NULL,
    alert_id        BIGINT NULL,
    channel_id      INT NOT NULL,
    channel_name    NVARCHAR(128) NOT NULL,
    kind            NVARCHAR(10) NOT NULL,
    title           NVARCHAR(400) NOT NULL,
    message         NVARCHAR(MAX) NOT NULL,
    occurrences     BIGINT NOT NULL,
    last_at         DATETIME2(7) NOT NULL,
    state           NVARCHAR(10) NOT NULL,
    created_at      DATETIME2(7) NOT NULL,
    expires_at      DATETIME2(7) NOT NULL,
    next_attempt_at DATETIME2(7) NULL,
    attempts        INT NOT NULL,
    leased_by       UNIQUEIDENTIFIER NULL,
    leased_until    DATETIME2(7) NULL,
    send_began_at   DATETIME2(7) NULL,
    delivered_at    DATETIME2(7) NULL,
    delivered_by    NVARCHAR(256) NULL,
    last_error      NVARCHAR(2000) NULL,
    event           NVARCHAR(MAX) NULL,
    CONSTRAINT PK_alert_deliveries PRIMARY KEY (delivery_id),
    CONSTRAINT UQ_alert_deliveries_notification_id UNIQUE (notification_id),
    CONSTRAINT CK_alert_deliveries_kind CHECK (kind IN (N'Raised', N'Again', N'Resolved', N'Test', N'Event')),
    CONSTRAINT CK_alert_deliveries_state CHECK (
        (state = N'Pending' AND next_attempt_at IS NOT NULL)
        OR (state IN (N'Delivered', N'Failed', N'Canceled') AND next_attempt_at IS NULL)
    )
);

CREATE INDEX IX_alert_deliveries_next_attempt_at ON jobs_internal.alert_deliveries (next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX IX_alert_deliveries_alert_id ON jobs_internal.alert_deliveries (alert_id)
    WHERE alert_id IS NOT NULL;

-- A table lock of the purge would block deliveries and acknowledgements (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.alert_deliveries SET (LOCK_ESCALATION = DISABLE);
