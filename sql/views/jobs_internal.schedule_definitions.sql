-- The definition and state from which an agent computes the due instants of a schedule: one row per schedule.
--
-- Columns:
--   schedule_id, job_id, job_name, schedule_name  Which schedule.
--   kind, spec         Its kind and text; spec is NULL for the schedule of jobs.sp_add_job.
--   interval_type, interval_count, start_time, end_time, anchor_at  The schedule of jobs.sp_add_job.
--   time_zone          The zone that it names; NULL: the zone in the text, else UTC.
--   next_due_at        The next instant that has not been handled; NULL: none is known.
--   last_due_at        The last instant that was handled.
--   next_fire_at       When next_due_at is handled: it plus the jitter.
--   catch_up, overlap  Its policies.
--   defined_at         When kind or text last changed.
--   activated_at       When the schedule was last restarted.
--   last_started_at    When its last run was created.
--   executions         Number of runs since kind or text changed, with which a count in the text is compared.
--   revision           Increases with every change that needs a new validation.
--   engine             Program and time zone data that computed its instants.
CREATE OR ALTER VIEW jobs_internal.schedule_definitions
AS
SELECT
    s.schedule_id,
    s.job_id,
    j.name AS job_name,
    s.name AS schedule_name,
    s.kind,
    s.spec,
    s.interval_type,
    s.interval_count,
    s.start_time,
    s.end_time,
    s.anchor_at,
    s.time_zone,
    s.next_due_at,
    s.last_due_at,
    s.next_fire_at,
    s.catch_up,
    s.overlap,
    COALESCE(s.defined_at, s.created_at) AS defined_at,
    s.activated_at,
    s.last_started_at,
    s.executions - s.counted_from AS executions,
    s.revision,
    s.engine
FROM jobs_internal.schedules AS s
INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id;
