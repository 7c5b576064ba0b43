-- The runs of jobs of job collections. jobs.job_executions has the same runs, with their steps and targets.
--
-- Columns:
--   job_id            The job.
--   job_execution_id  Id of the run.
--   create_time       When it was created (UTC).
--   scheduled         0: it was started by hand.
--   executions        Number of runs that the schedule of the job has started until now.
CREATE OR ALTER VIEW jobs.scheduler_runs
AS
SELECT
    e.job_id,
    e.job_execution_id,
    e.create_time,
    CAST(CASE WHEN e.schedule_id IS NULL THEN 0 ELSE 1 END AS BIT) AS scheduled,
    s.executions
FROM jobs_internal.scheduler_jobs AS d
INNER JOIN jobs_internal.schedules AS s ON s.job_id = d.job_id AND s.name = N'scheduler'
INNER JOIN jobs_internal.visible_runs AS e ON e.job_id = d.job_id;
