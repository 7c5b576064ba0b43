-- The attempts of the actions of jobs of job collections, as the Scheduler surface shows them (R-41). An attempt that is running is not
-- there, nor is one that was handed back because nothing was sent.
--
-- Read it for one job and a range of run_created_time: an index finds the runs, and the attempts are found by run.
--
-- Columns:
--   job_collection_name  Name of the collection.
--   job_name             Name of the job within the collection.
--   job_id               Id of the job.
--   job_execution_id     Id of the run.
--   run_created_time     When the run was created (UTC).
--   attempt_id           Grows with every attempt.
--   action_name          MainAction or ErrorAction.
--   status               Completed; Failed: it was the last try of its action; Postponed: it failed, and another try follows.
--   start_time           When the attempt began (UTC).
--   end_time             When it ended (UTC).
--   expected_time        Due instant of the run, or when it was started by hand (UTC).
--   retry_count          Number of tries before it.
--   message              Answer of the endpoint, or why there is none.
CREATE OR ALTER VIEW jobs.scheduler_history
AS
SELECT
    l.name AS job_collection_name,
    d.name AS job_name,
    d.job_id,
    e.job_execution_id,
    e.create_time AS run_created_time,
    k.task_id AS attempt_id,
    j.step_name AS action_name,
    CASE
        WHEN k.outcome IN (N'Succeeded', N'Accepted') THEN N'Completed'
        WHEN k.attempt < t.attempts OR t.lifecycle = N'WaitingForRetry' THEN N'Postponed'
        ELSE N'Failed'
    END AS status,
    k.claimed_at AS start_time,
    k.ended_at AS end_time,
    COALESCE(e.due_at, e.create_time) AS expected_time,
    k.attempt - 1 AS retry_count,
    CONCAT(
        c.command_type, N' Action - ',
        CASE
            WHEN c.command_type <> N'Http' THEN COALESCE(
                NULLIF(k.message, N''),
                CASE
                    WHEN k.outcome = N'Succeeded' THEN CONCAT(N'The message was accepted by ''', t.server_name, N'''.')
                    ELSE k.outcome
                END
            )
            WHEN r.message IS NULL THEN CONCAT(
                N'Request to host ''', t.server_name, N''' failed: ', COALESCE(NULLIF(k.message, N''), k.outcome)
            )
            ELSE CONCAT(
                N'Response from host ''', t.server_name, N''': ''', a.reason, N''' Response Headers: ',
                REPLACE(a.headers, NCHAR(10), CONCAT(NCHAR(13), NCHAR(10))),
                CASE WHEN a.headers <> N'' THEN CONCAT(NCHAR(13), NCHAR(10)) END,
                N' Body: ', LEFT(b.message, 2048)
            )
        END
    ) AS message
FROM jobs_internal.scheduler_jobs AS d
INNER JOIN jobs_internal.job_collections AS l ON l.collection_id = d.collection_id
INNER JOIN jobs_internal.visible_runs AS e ON e.job_id = d.job_id
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
INNER JOIN jobs_internal.job_steps AS j ON j.job_id = s.job_id AND j.version = s.job_version AND j.step_id = s.step_id
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = j.command_id
INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = s.execution_id AND k.step_execution_id = s.step_execution_id
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
OUTER APPLY (
    SELECT TOP (1) m.message
    FROM jobs_internal.task_messages AS m
    WHERE m.task_id = k.task_id
        AND m.kind = N'Response'
    ORDER BY m.ordinal DESC
) AS r
OUTER APPLY (
    SELECT TOP (1) m.message
    FROM jobs_internal.task_messages AS m
    WHERE m.task_id = k.task_id
        AND m.kind = N'Body'
    ORDER BY m.ordinal DESC
) AS b
-- The message is the status line, such as HTTP/1.1 404 Not Found, and the headers, a line each.
OUTER APPLY (
    SELECT
        LEFT(r.message, CHARINDEX(NCHAR(10), CONCAT(r.message, NCHAR(10))) - 1) AS status_line,
        SUBSTRING(r.message, CHARINDEX(NCHAR(10), CONCAT(r.message, NCHAR(10))) + 1, 1000000) AS headers
) AS p
OUTER APPLY (
    SELECT
        LTRIM(SUBSTRING(p.status_line, CHARINDEX(N' ', CONCAT(p.status_line, N' ')) + 4, 1000)) AS reason,
        p.headers
) AS a
WHERE k.kind = N'Run'
    AND k.ended_at IS NOT NULL
    AND k.outcome <> N'Returned';
