-- I3: a run is pinned to a version that exists, and each of its steps is a step of this version.
SELECT CONCAT(N'step execution ', s.step_execution_id, N' runs step ', s.step_id, N' of version ', s.job_version, N', which the run does not have') AS detail
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
WHERE s.job_version <> e.job_version
    OR NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS j
        WHERE j.job_id = e.job_id
            AND j.version = e.job_version
            AND j.step_id = s.step_id
    );
