-- The targets of roll-outs.
--
-- Columns:
--   job_execution_id  The roll-out: the id of its own run.
--   wave              Number of its wave, from 1; 0: no wave selects it, or it is not assigned yet.
--   wave_name         Name of the wave; NULL: none.
--   place             Position within the wave, from 1.
--   target_id         Public id of the database.
--   server_name       The server.
--   database_name     The database.
--   state             Pending, Succeeded, Failed, Unknown or Unreached: what became of it in its wave, recorded when the wave has run;
--                     or LeftOut, because it failed the preflight.
--   ran               1: a script of the roll-out began on it, so that it may have changed something there.
--   run_id            The last run of the wave that had it; NULL: none.
--   preflight         What its latest preflight found, if it failed it; NULL: it did not, or there was none.
--   probe_rows        Rows that the latest probe of its wave returned there, after the wave; NULL: none has run there.
--   probe_value       The number that it returned: the first column of the first row; NULL: none.
--   probe_before      The number that the probe before the wave returned there; NULL: none.
CREATE OR ALTER VIEW jobs.rollout_targets
AS
SELECT
    e.job_execution_id,
    t.wave,
    w.name AS wave_name,
    t.place,
    t.target_id,
    t.server_name,
    t.database_name,
    t.state,
    t.ran,
    x.job_execution_id AS run_id,
    t.preflight,
    p.row_count AS probe_rows,
    p.value AS probe_value,
    b.value AS probe_before
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.rollout_targets AS t ON t.execution_id = e.execution_id
LEFT JOIN jobs_internal.rollout_waves AS w ON w.execution_id = t.execution_id AND w.wave = t.wave
LEFT JOIN jobs_internal.visible_runs AS x ON x.execution_id = t.run_id
-- Before the wave has run, its latest probe is the one before it.
LEFT JOIN jobs_internal.rollout_probe_values AS p ON p.execution_id = w.probe_run_id
    AND p.execution_id <> COALESCE(w.before_run_id, 0)
    AND p.target_id = t.target_id
    AND w.run_id IS NOT NULL
LEFT JOIN jobs_internal.rollout_probe_values AS b ON b.execution_id = w.before_run_id AND b.target_id = t.target_id;
