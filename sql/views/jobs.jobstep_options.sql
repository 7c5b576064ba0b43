-- Step options that Azure does not have, for every version of every job.
--
-- Columns:
--   job_name            Name of the job.
--   job_id              Id of the job.
--   job_version         Version of the job.
--   is_current          1: the job's current version.
--   step_id             Position of the step, from 1.
--   step_name           Name of the step.
--   on_unknown_outcome  Reaction to an attempt whose outcome is unknown: Retry, by the step's retry policy, Fail, or Await (an
--                       action without an answer waits for a report).
--   at_most_once        1: the script runs in one transaction with a row in jobagent.executed_scripts of the target, so
--                       that no attempt runs it again once it has committed. Actions: no attempt follows an unknown outcome.
--   bind_parameters     1: the parameters of a run are variables in the script's batches.
--   after               The steps that come before it: a JSON array of their names, [] for none; NULL: the step with the
--                       preceding id.
--   run_when            When it starts, once those steps are final: Succeeded, Failed or Finished.
--   on_targets          All: the databases of the target group. Failed: the targets on which those steps failed. Succeeded: those
--                       on which they succeeded.
--   revision            The job's revision at which the step last changed.
--   retry_errors        Failures after which another attempt follows: All, or Transient (the error may pass by itself).
--   tolerated_failures  How many targets may fail, and the step succeeds: a number, or a percentage such as 1%.
CREATE OR ALTER VIEW jobs.jobstep_options
AS
SELECT
    j.name AS job_name,
    j.job_id,
    s.version AS job_version,
    CAST(CASE WHEN s.version = j.current_version THEN 1 ELSE 0 END AS BIT) AS is_current,
    s.step_id,
    s.step_name,
    s.on_unknown_outcome,
    s.at_most_once,
    CAST(COALESCE(JSON_VALUE(s.agent_options, N'$.bind_parameters'), N'0') AS BIT) AS bind_parameters,
    CASE
        WHEN s.has_after = 1 THEN CONCAT(N'[', (
            SELECT STRING_AGG(CONCAT(N'"', STRING_ESCAPE(CAST(a.step_name AS NVARCHAR(MAX)), N'json'), N'"'), N',')
                WITHIN GROUP (ORDER BY a.step_id)
            FROM jobs_internal.job_step_dependencies AS d
            INNER JOIN jobs_internal.job_steps AS a ON a.job_id = d.job_id AND a.version = d.version AND a.step_id = d.after_step_id
            WHERE d.job_id = s.job_id
                AND d.version = s.version
                AND d.step_id = s.step_id
        ), N']')
    END AS after,
    s.run_when,
    s.on_targets,
    s.revision,
    s.retry_errors,
    s.tolerated_failures
FROM jobs_internal.jobs AS j
INNER JOIN jobs_internal.job_steps AS s ON s.job_id = j.job_id
WHERE j.deleted_at IS NULL;
