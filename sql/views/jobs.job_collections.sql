-- Job collections, which hold the jobs of the Scheduler surface (beyond Azure's job database).
--
-- Columns:
--   job_collection_name       Name; unique.
--   job_collection_id         Id.
--   location                  Location; jobs send it as the region.
--   sku                       Plan: Standard, Free, P10Premium or P20Premium.
--   state                     Enabled or Disabled.
--   max_job_count             Number of jobs that it may have.
--   max_job_occurrence        Stored and shown; without effect.
--   max_recurrence_frequency  minute, hour, day, week, month or year.
--   max_recurrence_interval   Number of these units that lie at least between two runs of a job.
--   tags                      JSON object of texts; NULL: none.
--   revision                  Grows with every change.
--   jobs                      Number of its jobs.
--   created_time              When it was created (UTC).
--   updated_time              When it was last changed (UTC).
CREATE OR ALTER VIEW jobs.job_collections
AS
SELECT
    c.name AS job_collection_name,
    c.collection_id AS job_collection_id,
    c.location,
    c.sku,
    c.state,
    c.max_job_count,
    c.max_job_occurrence,
    c.max_recurrence_frequency,
    c.max_recurrence_interval,
    c.tags,
    c.revision,
    (SELECT COUNT(*) FROM jobs_internal.scheduler_jobs AS s WHERE s.collection_id = c.collection_id) AS jobs,
    c.created_at AS created_time,
    c.updated_at AS updated_time
FROM jobs_internal.job_collections AS c;
