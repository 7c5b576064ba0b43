-- Databases that are paused now (jobs.sp_pause_target): no attempt starts on them.
--
-- Columns:
--   target_id      Id of the database, as in jobs.job_executions.
--   server_name    Name of the server.
--   database_name  Name of the database.
--   reason         Why it is paused; NULL: no reason was given.
--   paused_time    Since when (UTC).
--   paused_by      Who paused it, or changed its pause last.
--   end_time       When the pause ends by itself (UTC); NULL: somebody has to end it.
CREATE OR ALTER VIEW jobs.target_pauses
AS
SELECT
    p.target_id,
    p.server_name,
    p.database_name,
    p.reason,
    p.paused_at AS paused_time,
    p.paused_by,
    p.ends_at AS end_time
FROM jobs_internal.target_pauses AS p
WHERE p.resumed_at IS NULL
    AND (p.ends_at IS NULL OR p.ends_at > SYSUTCDATETIME());
