-- What agents hold now: the tasks of all terms that have not ended.
--
-- Columns:
--   task_id           Increases over time.
--   agent_id          The agent.
--   host_name         Machine of its latest term.
--   term_id           The term.
--   kind              Run or Resolve.
--   job_execution_id  The run.
--   job_name          Name of its job.
--   step_id           Number of the step.
--   step_name         Its name.
--   server_name       Server, or host of the endpoint; NULL for a resolution.
--   database_name     Database; NULL for an endpoint and for a resolution.
--   target_id         Id of the target; NULL for a resolution.
--   attempt           Number of the attempt.
--   claimed_at        When the attempt began (UTC).
--
-- Plan: per term that has not ended a range of IX_task_executions_held, which has as many rows as the agent has workers, each with the
-- rows of its run.
CREATE OR ALTER VIEW jobs_internal.agent_tasks
AS
SELECT
    k.task_id,
    m.agent_id,
    a.host_name,
    k.term_id,
    k.kind,
    e.job_execution_id,
    j.name AS job_name,
    s.step_id,
    d.step_name,
    t.server_name,
    CASE WHEN t.is_endpoint = 0 THEN t.database_name END AS database_name,
    t.target_id,
    k.attempt,
    k.claimed_at
FROM jobs_internal.terms AS m
INNER JOIN jobs_internal.task_executions AS k ON k.term_id = m.term_id
INNER JOIN jobs_internal.agents AS a ON a.agent_id = m.agent_id
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = k.step_execution_id
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = k.execution_id
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
WHERE m.ended_at IS NULL
    AND k.ended_at IS NULL;
