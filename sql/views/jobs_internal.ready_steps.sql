-- Steps with targets that are due or wait for another attempt: one row per step of a run without a stop request that is not set aside.
--
-- Columns:
--   step_execution_id     The step's row.
--   running               Number of tasks that the step has running. Rows that another transaction holds are skipped,
--                         so the view never waits: the number only affects turns, never a limit.
--   max_parallelism       The step's limit; NULL: none.
--   step_timeout_seconds  The step's time limit; of a task of the SAP surface, the setting async_exec_timeout_seconds.
--   command_type          The type of the step's command, or Parameters for TSql in a run with parameters, or the mode of the run; a term
--                         claims only types that its agent runs (check_term).
--   is_wave               1: of a run of a wave of a roll-out, which limits it.
--   next_attempt_at       When the first of its targets is due.
--
-- Plan: IX_step_executions_hot (steps that are active and not parked), per step a seek in IX_target_executions_due that reads one key;
-- IX_task_executions_held once (tasks that are held). Both are small, whatever history there is. The hint makes it once: no index begins
-- with the step, so loops, which SQL Server chooses where it expects one row, would read all held tasks for each step.
CREATE OR ALTER VIEW jobs_internal.ready_steps
AS
WITH held AS (
    SELECT k.step_execution_id, COUNT(*) AS running
    FROM jobs_internal.task_executions AS k WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    WHERE k.ended_at IS NULL
    GROUP BY k.step_execution_id
)
SELECT
    s.step_execution_id,
    COALESCE(h.running, 0) AS running,
    d.max_parallelism,
    CASE
        WHEN c.command_type = N'Process' AND EXISTS (SELECT 1 FROM jobs_internal.rest_jobs AS r WHERE r.job_id = s.job_id)
            THEN (SELECT v.value FROM jobs_internal.effective_settings AS v WHERE v.name = N'async_exec_timeout_seconds')
        ELSE d.step_timeout_seconds
    END AS step_timeout_seconds,
    CASE
        WHEN e.mode IS NOT NULL THEN e.mode
        WHEN c.command_type = N'TSql' AND e.payload_id IS NOT NULL THEN N'Parameters'
        ELSE c.command_type
    END AS command_type,
    CASE WHEN e.rollout_probe = 0 THEN 1 ELSE 0 END AS is_wave,
    w.next_attempt_at
FROM jobs_internal.step_executions AS s
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = s.execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
CROSS APPLY (
    SELECT TOP (1) t.next_attempt_at
    FROM jobs_internal.target_executions AS t WITH (READCOMMITTEDLOCK, READPAST, ROWLOCK)
    WHERE t.step_execution_id = s.step_execution_id
        AND t.next_attempt_at IS NOT NULL
    ORDER BY t.next_attempt_at, t.target_execution_id
) AS w
LEFT HASH JOIN held AS h ON h.step_execution_id = s.step_execution_id
WHERE s.is_active = 1
    AND s.parked = 0
    AND s.lifecycle = N'WaitingForChildJobExecutions'
    AND e.stop_requested_at IS NULL
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.set_asides AS z
        WHERE z.kind = N'Run'
            AND s.execution_id BETWEEN z.first_id AND z.last_id
    );
