-- Attempts of steps on targets, and of resolutions of target groups (beyond Azure). They are kept as long as the run's
-- history.
--
-- Read it for one run, or for one target of a step of a run: an index finds either.
--
-- Columns:
--   job_execution_id      Id of the run.
--   job_name              Name of the job.
--   job_id                Id of the job.
--   step_id               Number of the step.
--   target_id             Id of the database or endpoint; NULL: a resolution of the step's target group.
--   attempt_id            Grows with every attempt; the messages of the attempt have the same.
--   attempt               Number of the attempt. The number of an attempt that was handed back is used again.
--   start_time            When an agent claimed it (UTC, as all times).
--   end_time              When its outcome was accepted; NULL: it runs.
--   outcome               Succeeded, Failed, TimedOut, Canceled, Unknown (it is unknown whether the script ran) or Returned
--                         (nothing was sent). Of actions also Accepted and NoAnswer: a report decides. NULL: it runs.
--   message               The agent's message.
--   error_number, error_severity, error_state, error_line, error_procedure  The error that determined the outcome.
--   rows_affected         Sum of all row counts.
--   elapsed_ms            Duration by the agent's clock.
--   session_id            Session on the target's server; NULL: unknown.
--   unreached             1: no connection, or the login was refused. Nothing was sent.
--   send_began_time       When the agent was allowed to send the request of an action; NULL: nothing was sent, or no action.
--   agent_id              The agent; NULL: its record is gone.
--   host_name             Machine of the agent's latest term; NULL: its record is gone.
--   term_id               Term of the agent.
--   is_term_over          1: the term has ended or expired, so an attempt that runs will be handed over.
CREATE OR ALTER VIEW jobs.job_execution_attempts
AS
SELECT
    e.job_execution_id,
    j.name AS job_name,
    e.job_id,
    s.step_id,
    t.target_id,
    k.task_id AS attempt_id,
    k.attempt,
    k.claimed_at AS start_time,
    k.ended_at AS end_time,
    k.outcome,
    k.message,
    k.error_number,
    k.error_severity,
    k.error_state,
    k.error_line,
    k.error_procedure,
    k.rows_affected,
    k.elapsed_ms,
    k.session_id,
    k.unreached,
    k.send_began_at AS send_began_time,
    a.agent_id,
    a.host_name,
    k.term_id,
    CAST(CASE WHEN m.ended_at IS NULL AND m.expires_at > SYSUTCDATETIME() THEN 0 ELSE 1 END AS BIT) AS is_term_over
FROM jobs_internal.visible_runs AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = e.execution_id
INNER JOIN jobs_internal.task_executions AS k ON k.execution_id = s.execution_id AND k.step_execution_id = s.step_execution_id
LEFT JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
    AND t.step_execution_id = k.step_execution_id -- so that a target finds its attempts by the index
LEFT JOIN jobs_internal.terms AS m ON m.term_id = k.term_id
LEFT JOIN jobs_internal.agents AS a ON a.agent_id = m.agent_id
WHERE j.deleted_at IS NULL;
