-- Step options that Azure does not have, for every version of every job.
--
-- Columns:
--   job_name            Name of the job.
--   job_id              Id of the job.
--   job_version         Version of the job.
--   is_current          1: the job's current version.
--   step_id             Position of the step, from 1.
--   step_name           Name of the step.
--   on_unknown_outcome  Reaction to an attempt whose outcome is unknown: Retry, by the step's retry policy, or Fail.
--   at_most_once        1: the script runs in one transaction with a row in jobagent.executed_scripts of the target, so
--                       that no attempt runs it again once it has committed.
--   bind_parameters     1: the parameters of a run are variables in the script's batches.
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
    s.bind_parameters
FROM jobs_internal.jobs AS j
INNER JOIN jobs_internal.job_steps AS s ON s.job_id = j.job_id
WHERE j.deleted_at IS NULL;
