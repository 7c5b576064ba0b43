-- The limits of each queue of targets: one row per queue and limit. Rows with the same limit_key share one count.
--
-- Columns:
--   queue_id                The queue.
--   step_execution_id       The step's row.
--   scope                   Step (max_parallelism), Job, Server, ElasticPool or Credential.
--   limit_id                Row of jobs_internal.limits; NULL for Step.
--   limit_key               The counted set: the targets that run in queues with the same key.
--   max_concurrent_targets  Maximum number of them that run at once.
--   description             The limit in words.
CREATE OR ALTER VIEW jobs_internal.queue_limits
AS
SELECT
    q.queue_id,
    q.step_execution_id,
    CAST(N'Step' AS NVARCHAR(20)) AS scope,
    CAST(NULL AS INT) AS limit_id,
    CAST(CONCAT(
        N'Step', NCHAR(31), q.job_id, NCHAR(31), q.step_id, NCHAR(31), q.server_name, NCHAR(31), q.elastic_pool_name
    ) AS NVARCHAR(450)) AS limit_key,
    d.max_parallelism AS max_concurrent_targets,
    CAST(CONCAT(
        N'max_parallelism of step ', q.step_id,
        CASE
            WHEN q.elastic_pool_name = N'' THEN N' on server '''
            ELSE CONCAT(N' in elastic pool ''', q.elastic_pool_name, N''' of server ''')
        END,
        q.server_name, N''''
    ) AS NVARCHAR(1000)) AS description
FROM jobs_internal.target_queues AS q
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = q.step_execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
WHERE d.max_parallelism IS NOT NULL
UNION ALL
SELECT
    q.queue_id,
    q.step_execution_id,
    N'Job',
    COALESCE(l.limit_id, a.limit_id),
    CONCAT(N'Job', NCHAR(31), q.job_id),
    COALESCE(l.max_concurrent_targets, a.max_concurrent_targets),
    N'limit of the job'
FROM jobs_internal.target_queues AS q
LEFT JOIN jobs_internal.limits AS l ON l.scope = N'Job' AND l.job_id = q.job_id AND l.job_id IS NOT NULL
LEFT JOIN jobs_internal.limits AS a ON a.scope = N'Job' AND a.job_id IS NULL AND a.name = N'*'
WHERE COALESCE(l.limit_id, a.limit_id) IS NOT NULL
UNION ALL
SELECT
    q.queue_id,
    q.step_execution_id,
    N'Server',
    COALESCE(l.limit_id, a.limit_id),
    CONCAT(N'Server', NCHAR(31), q.server_name),
    COALESCE(l.max_concurrent_targets, a.max_concurrent_targets),
    CONCAT(N'limit of server ''', q.server_name, N'''')
FROM jobs_internal.target_queues AS q
LEFT JOIN jobs_internal.limits AS l ON l.scope = N'Server' AND l.job_id IS NULL AND l.name = q.server_name
LEFT JOIN jobs_internal.limits AS a ON a.scope = N'Server' AND a.job_id IS NULL AND a.name = N'*'
WHERE COALESCE(l.limit_id, a.limit_id) IS NOT NULL
UNION ALL
SELECT
    q.queue_id,
    q.step_execution_id,
    N'ElasticPool',
    COALESCE(l.limit_id, p.limit_id, b.limit_id, a.limit_id),
    CONCAT(N'ElasticPool', NCHAR(31), q.server_name, NCHAR(31), q.elastic_pool_name),
    COALESCE(l.max_concurrent_targets, p.max_concurrent_targets, b.max_concurrent_targets, a.max_concurrent_targets),
    CONCAT(N'limit of elastic pool ''', q.elastic_pool_name, N''' of server ''', q.server_name, N'''')
FROM jobs_internal.target_queues AS q
LEFT JOIN jobs_internal.limits AS l ON l.scope = N'ElasticPool'
    AND l.job_id IS NULL
    AND l.name = q.elastic_pool_name
    AND l.server_name = q.server_name
LEFT JOIN jobs_internal.limits AS p ON p.scope = N'ElasticPool'
    AND p.job_id IS NULL
    AND p.name = q.elastic_pool_name
    AND p.server_name = N''
LEFT JOIN jobs_internal.limits AS b ON b.scope = N'ElasticPool' AND b.job_id IS NULL AND b.name = N'*' AND b.server_name = q.server_name
LEFT JOIN jobs_internal.limits AS a ON a.scope = N'ElasticPool' AND a.job_id IS NULL AND a.name = N'*' AND a.server_name = N''
WHERE q.elastic_pool_name <> N''
    AND COALESCE(l.limit_id, p.limit_id, b.limit_id, a.limit_id) IS NOT NULL
UNION ALL
SELECT
    q.queue_id,
    q.step_execution_id,
    N'Credential',
    COALESCE(l.limit_id, a.limit_id),
    CONCAT(N'Credential', NCHAR(31), COALESCE(d.credential_name, N'(default)')),
    COALESCE(l.max_concurrent_targets, a.max_concurrent_targets),
    CONCAT(N'limit of credential ''', COALESCE(d.credential_name, N'(default)'), N'''')
FROM jobs_internal.target_queues AS q
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = q.step_execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
LEFT JOIN jobs_internal.limits AS l ON l.scope = N'Credential' AND l.job_id IS NULL AND l.name = COALESCE(d.credential_name, N'(default)')
LEFT JOIN jobs_internal.limits AS a ON a.scope = N'Credential' AND a.job_id IS NULL AND a.name = N'*'
WHERE COALESCE(l.limit_id, a.limit_id) IS NOT NULL;
