-- Events that wait, but whose trigger has been changed, disabled or deleted since: the next pass records them as skipped.
--
-- Plan: the keys of IX_trigger_events_waiting, which is empty unless events wait, per key one of PK_job_triggers.
--
-- Columns:
--   event_id   The event.
--   reason     Why it is skipped, as a sentence.
CREATE OR ALTER VIEW jobs_internal.stale_trigger_events
AS
SELECT
    e.event_id,
    CASE
        WHEN t.trigger_id IS NULL THEN N'The trigger was deleted.'
        WHEN t.enabled = 0 THEN N'The trigger was disabled.'
        ELSE N'The trigger was changed.'
    END AS reason
FROM jobs_internal.trigger_events AS e
LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = e.trigger_id
WHERE e.is_waiting = 1
    AND (t.trigger_id IS NULL OR t.generation <> e.generation)
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.set_asides AS z
        WHERE z.kind = N'Trigger'
            AND e.trigger_id BETWEEN z.first_id AND z.last_id
    );
