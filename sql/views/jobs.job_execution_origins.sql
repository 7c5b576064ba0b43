-- How runs came to be, and who stopped them (beyond Azure): one row per run. jobs.job_executions has their state.
--
-- Columns:
--   job_execution_id     Id of the run.
--   job_name             Name of the job.
--   job_id               Id of the job.
--   job_version          Version that the run uses.
--   create_time          When the run was created (UTC, as all times).
--   started_by           Login that started it; NULL: a schedule or a trigger did.
--   schedule_name        Schedule that started it; an empty text for the schedule of jobs.sp_add_job. NULL: none, or it was deleted.
--   due_time             Instant at which it was due; NULL: it was started by hand.
--   backfill_id          Backfill that requested it; NULL: none.
--   rerun_of             Run whose targets it repeats; NULL: none, or that run has been purged.
--   rerun_only           Final states of the targets that it repeats; NULL: it is no rerun.
--   stop_requested_time  When a stop was requested; NULL: none was.
--   stop_requested_by    Who requested it.
--   only_targets         The chosen databases to which the run is limited: a JSON array of objects with target_id, server_name and
--                        database_name; NULL: all of its target groups.
--   chosen_targets       The number of these; NULL: it is not limited.
--   tolerated_failures   Number of targets that failed and are tolerated: their steps succeeded; NULL: none.
--   database_time        The database's time, to compare with.
--   mode                 Trial: its scripts ran in transactions that were rolled back; Preflight: what they need was checked;
--                        NULL: they ran.
--   mode_options         The options of the mode, as jobs.sp_start_job describes them; NULL: none.
--   ignores_windows      1: it was started without regard to the windows of its databases (@ignore_windows).
--   trigger_name         Trigger that started it, after the runs in jobs.job_trigger_events; an empty text if it was deleted. NULL: none.
--   on_succeeded         1: it is limited to the databases on which the upstream jobs of the trigger succeeded (@targets of
--                        jobs.sp_add_job_trigger).
CREATE OR ALTER VIEW jobs.job_execution_origins
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    e.job_version,
    e.create_time,
    e.started_by,
    h.name AS schedule_name,
    e.due_at AS due_time,
    e.backfill_id,
    o.job_execution_id AS rerun_of,
    e.rerun_only,
    e.stop_requested_at AS stop_requested_time,
    e.stop_requested_by,
    e.only_targets,
    CASE WHEN e.only_targets IS NOT NULL THEN (SELECT COUNT(*) FROM OPENJSON(e.only_targets) AS c) END AS chosen_targets,
    (SELECT SUM(s.tolerated) FROM jobs_internal.step_executions AS s WHERE s.execution_id = e.execution_id) AS tolerated_failures,
    SYSUTCDATETIME() AS database_time,
    e.mode,
    e.mode_options,
    CAST(COALESCE(e.ignore_windows, 0) AS BIT) AS ignores_windows,
    (
        SELECT MIN(COALESCE(t.name, N''))
        FROM jobs_internal.trigger_events AS v
        LEFT JOIN jobs_internal.job_triggers AS t ON t.trigger_id = v.trigger_id
        WHERE v.execution_id = e.execution_id
            AND v.execution_id IS NOT NULL
    ) AS trigger_name,
    CAST(CASE WHEN e.upstream_runs IS NOT NULL THEN 1 ELSE 0 END AS BIT) AS on_succeeded
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
LEFT JOIN jobs_internal.schedules AS h ON h.schedule_id = e.schedule_id
LEFT JOIN jobs_internal.visible_runs AS o ON o.execution_id = e.rerun_of
WHERE j.deleted_at IS NULL;
