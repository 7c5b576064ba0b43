-- I3: the targets of a step of a rerun are among the step's targets in the repeated run, if the
-- step had a target list there. Lists of failed or succeeded targets are made anew; and with dependencies, a
-- step that needed no targets there may need its target group here.
SELECT CONCAT(N'target execution ', t.target_execution_id, N' is on ', t.server_name, N'/', t.database_name, N', which step ', t.step_id, N' did not have in job execution ', e.rerun_of) AS detail
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.job_executions AS f ON f.execution_id = e.rerun_of
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.job_versions AS v ON v.job_id = e.job_id AND v.version = e.job_version
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = e.execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version AND d.step_id = t.step_id
INNER JOIN jobs_internal.step_executions AS o ON o.execution_id = e.rerun_of AND o.step_id = t.step_id
WHERE f.purged_at IS NULL
    AND j.deleted_at IS NULL
    AND o.resolved_at IS NOT NULL
    AND d.on_targets = N'All'
    AND (v.has_dependencies = 0 OR EXISTS (SELECT 1 FROM jobs_internal.target_executions AS y WHERE y.step_execution_id = o.step_execution_id))
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.target_executions AS x
        WHERE x.step_execution_id = o.step_execution_id
            AND x.target_id = t.target_id
    );
