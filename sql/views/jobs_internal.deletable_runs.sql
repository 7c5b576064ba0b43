-- The ended runs whose rows nothing needs: no active rerun, roll-out or undo of a roll-out, no active run that a trigger started on their
-- targets, and no list of targets that is being made.
-- Used by: jobs_internal.delete_leftovers, which finds a run by purged_at or by job_id.
-- Cost:    per run a key of each index; active undos (IX_rollouts_job_id), active runs that a trigger started on targets, and lists that
--          are being made, are few.
CREATE OR ALTER VIEW jobs_internal.deletable_runs
AS
SELECT e.execution_id, e.job_id, e.purged_at
FROM jobs_internal.job_executions AS e
WHERE e.is_active = 0
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_executions AS r
        WHERE r.rerun_of = e.execution_id
            AND r.rerun_of IS NOT NULL
            AND r.is_active = 1
    )
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.rollouts AS r WHERE r.execution_id = e.rollout_of AND r.ended_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.rollouts AS r WHERE r.undo_of = e.execution_id AND r.ended_at IS NULL)
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_executions AS r
        WHERE r.is_active = 1
            AND r.upstream_runs IS NOT NULL
            AND CONCAT(N',', r.upstream_runs, N',') LIKE CONCAT(N'%[-,]', e.execution_id, N',%')
    )
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.step_lists AS l
        INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = l.from_step
        WHERE s.execution_id = e.execution_id
    );
