-- Triggers that can start their job now: there is an event of each upstream job, no run of the job is active, and the trigger is not set
-- aside.
--
-- Plan: the keys of IX_trigger_events_waiting, which is empty unless events wait, per job one key of IX_job_executions_active_job_id.
--
-- Columns:
--   trigger_id   The trigger.
--   job_id       The job that it starts.
--   first_event  Its earliest event.
--   generation   That of the trigger.
--   upstreams    Number of jobs that it watches.
CREATE OR ALTER VIEW jobs_internal.ready_triggers
AS
SELECT
    v.trigger_id,
    v.job_id,
    v.first_event,
    v.generation,
    w.upstreams
FROM (
    SELECT
        e.trigger_id,
        e.job_id,
        e.generation,
        MIN(e.event_id) AS first_event,
        COUNT(DISTINCT e.upstream_job_id) AS jobs
    FROM jobs_internal.trigger_events AS e
    INNER JOIN jobs_internal.job_triggers AS t ON t.trigger_id = e.trigger_id AND t.generation = e.generation
    WHERE e.is_waiting = 1
    GROUP BY e.trigger_id, e.job_id, e.generation
) AS v
CROSS APPLY (
    SELECT COUNT(*) AS upstreams
    FROM jobs_internal.job_trigger_upstreams AS u
    WHERE u.trigger_id = v.trigger_id
) AS w
WHERE w.upstreams = v.jobs
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.set_asides AS z
        WHERE z.kind = N'Trigger'
            AND v.trigger_id BETWEEN z.first_id AND z.last_id
    )
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_executions AS r
        WHERE r.job_id = v.job_id
            AND r.is_active = 1
    );
