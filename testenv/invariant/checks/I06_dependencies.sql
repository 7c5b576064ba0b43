-- I6: of a run whose version has dependencies, a step has a row only if all steps that come before
-- it are final, and each is final before the row was created. A step that its condition skipped has
-- no targets. When such a run has ended, nothing is left to decide: each step has a row, unless a
-- stop was requested.
SELECT CONCAT(N'step ', s.step_id, N' of job execution ', s.execution_id, N' began before step ', p.step_id, N' had ended') AS detail
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
INNER JOIN jobs_internal.job_versions AS v ON v.job_id = s.job_id AND v.version = s.job_version
INNER JOIN jobs_internal.step_executions AS p ON p.execution_id = s.execution_id
WHERE v.has_dependencies = 1
    AND (
        (d.has_after = 0 AND p.step_id = s.step_id - 1)
        OR EXISTS (
            SELECT 1
            FROM jobs_internal.job_step_dependencies AS y
            WHERE y.job_id = d.job_id
                AND y.version = d.version
                AND y.step_id = d.step_id
                AND y.after_step_id = p.step_id
        )
    )
    AND (p.is_active = 1 OR p.end_time > s.create_time)
UNION ALL
SELECT CONCAT(N'step ', s.step_id, N' of job execution ', s.execution_id, N' was skipped by its condition, and has targets')
FROM jobs_internal.step_executions AS s
WHERE s.skipped_by_condition = 1
    AND EXISTS (SELECT 1 FROM jobs_internal.target_executions AS t WHERE t.step_execution_id = s.step_execution_id)
UNION ALL
SELECT CONCAT(N'job execution ', e.execution_id, N' ended as ', e.lifecycle, N' without a decision on step ', d.step_id)
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.job_versions AS v ON v.job_id = e.job_id AND v.version = e.job_version
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = e.job_id AND d.version = e.job_version
WHERE v.has_dependencies = 1
    AND e.is_active = 0
    AND e.stop_requested_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.step_executions AS s WHERE s.execution_id = e.execution_id AND s.step_id = d.step_id);
