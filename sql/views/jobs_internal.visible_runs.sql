-- Runs that no purge has hidden: those that are neither marked (purged_at) nor in the range of a purge whose runs are being marked. All
-- views and procedures that show runs read them here. Plan: as for the table; history_purges is usually empty, and otherwise has a few rows
-- of a few jobs. Indexes that cover a read of ended runs have create_time for the comparison.
--
-- Columns:
--   execution_id       and all others: as in jobs_internal.job_executions; but last_message says that a run is set aside.
CREATE OR ALTER VIEW jobs_internal.visible_runs
AS
SELECT
    e.execution_id,
    e.job_execution_id,
    e.job_id,
    e.job_version,
    e.lifecycle,
    e.is_active,
    e.create_time,
    e.start_time,
    e.end_time,
    e.schedule_id,
    e.due_at,
    e.backfill_id,
    e.allow_overlap,
    e.unaccounted,
    e.started_by,
    e.stop_requested_at,
    e.stop_requested_by,
    e.rerun_of,
    e.rerun_only,
    e.rerun_partial,
    COALESCE(
        CASE
            WHEN e.is_active = 1
                THEN (SELECT m.message FROM jobs_internal.set_aside_messages AS m WHERE m.kind = N'Run' AND m.first_id = e.execution_id)
        END,
        e.last_message
    ) AS last_message,
    e.parked,
    e.payload_id,
    e.traceparent,
    e.only_targets,
    e.upstream_runs,
    e.rollout_start,
    e.rollout_of,
    e.rollout_wave,
    e.rollout_probe,
    e.mode,
    e.mode_options,
    e.ignore_windows
FROM jobs_internal.job_executions AS e
WHERE e.purged_at IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.history_purges AS h
        WHERE h.job_id = e.job_id
            AND e.create_time < h.created_before
            AND e.end_time <= h.ended_before
    );
