-- Channels: where notifications of alerts are sent.
--
-- Columns:
--   channel_name   Name; unique.
--   channel_type   A type of jobs.command_types, such as Http or Mail.
--   definition     JSON object; secrets are templates $(secret.NAME).
--   needs_secrets  1: only an agent or a front that can read the secrets delivers here.
--   enabled        0: nothing is sent.
--   created_time   When the channel was added (UTC).
--   updated_time   When the channel was changed (UTC).
CREATE OR ALTER VIEW jobs.alert_channels
AS
SELECT
    c.name AS channel_name,
    c.channel_type,
    c.definition,
    c.needs_secrets,
    c.enabled,
    c.created_at AS created_time,
    c.updated_at AS updated_time
FROM jobs_internal.alert_channels AS c;
