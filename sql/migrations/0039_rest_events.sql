-- Lets runs of the SAP surface send events (ansConfig): the channel of the instance, and the event of a delivery.
ALTER TABLE jobs_internal.tenants ADD events_channel NVARCHAR(128) NULL;

ALTER TABLE jobs_internal.alert_deliveries ADD event NVARCHAR(MAX) NULL;

ALTER TABLE jobs_internal.alert_deliveries DROP CONSTRAINT CK_alert_deliveries_kind;

ALTER TABLE jobs_internal.alert_deliveries WITH CHECK ADD CONSTRAINT CK_alert_deliveries_kind
    CHECK (kind IN (N'Raised', N'Again', N'Resolved', N'Test', N'Event'));
