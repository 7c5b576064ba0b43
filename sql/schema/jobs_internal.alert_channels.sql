-- Channels: where notifications of alerts are sent.
--
-- Columns:
--   channel_id    Internal key.
--   name          Unique.
--   channel_type  A type of jobs.command_types, such as Http or Mail.
--   definition    JSON object. Secrets are templates $(secret.NAME) (I9).
--   needs_secrets  1: the definition names secrets, so only a process that can read them delivers here.
--   enabled       0: nothing is sent; notifications for this channel are not made.
--   created_at    When the channel was added.
--   updated_at    When the channel was changed.
CREATE TABLE jobs_internal.alert_channels (
    channel_id    INT NOT NULL IDENTITY(1, 1),
    name          NVARCHAR(128) NOT NULL,
    channel_type  NVARCHAR(50) NOT NULL,
    definition    NVARCHAR(MAX) NOT NULL,
    needs_secrets BIT NOT NULL,
    enabled       BIT NOT NULL,
    created_at    DATETIME2(7) NOT NULL,
    updated_at    DATETIME2(7) NOT NULL,
    CONSTRAINT PK_alert_channels PRIMARY KEY (channel_id),
    CONSTRAINT UQ_alert_channels_name UNIQUE (name)
);
