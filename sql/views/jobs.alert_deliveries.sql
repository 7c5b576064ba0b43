-- Deliveries of notifications, one row for each notification and channel. To be read by alert_id, by notification_id, or from the end.
--
-- Columns:
--   delivery_id        Increases over time.
--   notification_id    Id of the delivery, which receivers see (webhook-id).
--   alert_id           The alert; NULL: a test or an event.
--   channel_name       Where it is sent.
--   kind               Raised, Again, Resolved, Test, or Event (of a run of SAP's API, by the ansConfig of its job).
--   title              One line.
--   state              Pending, Delivered, Failed or Canceled.
--   created_time       When the notification was made (UTC, as all times).
--   next_attempt_time  When the next attempt may begin.
--   expires_time       When delivery is given up.
--   attempts           Number of attempts that have begun.
--   is_leased          1: an attempt is under way.
--   delivered_time     When it was delivered.
--   delivered_by       Process that delivered it.
--   last_error         Error of the latest failed attempt.
CREATE OR ALTER VIEW jobs.alert_deliveries
AS
SELECT
    d.delivery_id,
    d.notification_id,
    d.alert_id,
    d.channel_name,
    d.kind,
    d.title,
    d.state,
    d.created_at AS created_time,
    d.next_attempt_at AS next_attempt_time,
    d.expires_at AS expires_time,
    d.attempts,
    CAST(CASE WHEN d.leased_until > SYSUTCDATETIME() THEN 1 ELSE 0 END AS BIT) AS is_leased,
    d.delivered_at AS delivered_time,
    d.delivered_by,
    d.last_error
FROM jobs_internal.alert_deliveries AS d;
