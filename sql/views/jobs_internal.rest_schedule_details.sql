-- Schedules of jobs of the SAP surface, as it shows them.
--
-- Columns:
--   schedule_id       Internal key.
--   rest_schedule_id, mode, spec, description, start_at, end_at  See jobs_internal.rest_schedules.
--   job_id            The job.
--   rest_job_id       Its _id.
--   tenant_id         Its tenant.
--   active            1: the schedule is switched on, and can still run (S-45).
--   data              Parameters of its runs; NULL: none.
--   next_due_at       The next due instant; NULL: none, or not known yet.
--   next_run_id, next_run_made_at  Id of the run at that instant, and when it was made.
--   created_at, updated_at  When it was created, and last changed.
CREATE OR ALTER VIEW jobs_internal.rest_schedule_details
AS
SELECT
    s.schedule_id,
    x.rest_schedule_id,
    s.job_id,
    r.rest_job_id,
    r.tenant_id,
    x.mode,
    x.spec,
    x.description,
    x.start_at,
    x.end_at,
    CAST(CASE
        WHEN s.state IN (N'Completed', N'Faulted') THEN 0
        WHEN r.active = 1 THEN s.enabled
        ELSE x.active
    END AS BIT) AS active,
    p.text AS data,
    CASE WHEN s.next_fire_at IS NOT NULL THEN s.next_due_at END AS next_due_at,
    s.next_run_id,
    s.next_run_made_at,
    s.created_at,
    s.updated_at
FROM jobs_internal.rest_jobs AS r
INNER JOIN jobs_internal.schedules AS s ON s.job_id = r.job_id
INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id
LEFT JOIN jobs_internal.payloads AS p ON p.payload_id = s.payload_id;
