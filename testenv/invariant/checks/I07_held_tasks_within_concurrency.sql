-- I7: a term holds at most one task for each worker of its agent and as many prefetched tasks:
-- twice the agent's concurrency.
SELECT CONCAT(N'term ', m.term_id, N' holds ', COUNT(*), N' tasks, and its agent runs ', a.max_concurrent_targets, N' at once') AS detail
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.terms AS m ON m.term_id = k.term_id
INNER JOIN jobs_internal.agents AS a ON a.agent_id = m.agent_id
WHERE k.ended_at IS NULL
    AND m.ended_at IS NULL
GROUP BY m.term_id, a.max_concurrent_targets
HAVING COUNT(*) > 2 * a.max_concurrent_targets;
