-- Lists of targets that runs have made of target groups: one row for each step of a run whose list is frozen. The targets of a list are
-- the rows of jobs.job_executions with the same job_execution_id and step_id and a target_type of SqlDatabase. Lists that were not made by
-- resolving the group are left out: those of reruns, and those of steps that run on the targets that failed,
-- and those of runs on chosen databases.
--
-- Columns:
--   target_group_id    Id of the target group.
--   target_group_name  Name that the group had when the version of the job was made.
--   job_execution_id   Id of the run.
--   job_id             Id of the job.
--   job_name           Name of the job.
--   job_version        Version that the run uses.
--   step_id            Number of the step.
--   step_name          Name of the step.
--   lifecycle          Lifecycle of the step.
--   create_time        When the run was created (UTC).
--   resolved_time      When the list was frozen (UTC).
CREATE OR ALTER VIEW jobs.group_resolutions
AS
SELECT
    d.target_group_id,
    d.target_group_name,
    e.job_execution_id,
    e.job_id,
    j.name AS job_name,
    e.job_version,
    s.step_id,
    d.step_name,
    s.lifecycle,
    e.create_time,
    s.resolved_at AS resolved_time
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.visible_runs AS e ON e.execution_id = s.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
WHERE s.resolved_at IS NOT NULL
    AND d.target_group_id <> '00000000-0000-0000-0000-000000000000'
    AND j.deleted_at IS NULL
    AND e.only_targets IS NULL
    AND e.upstream_runs IS NULL
    AND EXISTS (
        SELECT 1
        FROM jobs_internal.task_executions AS k
        WHERE k.execution_id = s.execution_id
            AND k.step_execution_id = s.step_execution_id
            AND k.target_execution_id IS NULL
            AND k.outcome = N'Succeeded'
    );
