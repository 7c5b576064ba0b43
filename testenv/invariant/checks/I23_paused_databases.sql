-- I23: no attempt starts on a database that is paused. A pause counts from its commit; a claim has its time from before it reads pauses.
SELECT CONCAT(N'task ', k.task_id, N' was claimed at ', CONVERT(NVARCHAR(27), k.claimed_at, 126), N' on a database that is paused since ',
    CONVERT(NVARCHAR(27), p.paused_at, 126), N' (pause ', p.pause_id, N')') AS detail
FROM jobs_internal.target_pauses AS p
INNER JOIN jobs_internal.target_executions AS t ON t.target_id = p.target_id AND t.is_endpoint = 0
INNER JOIN jobs_internal.task_executions AS k ON k.target_execution_id = t.target_execution_id
INNER JOIN jobs_internal.step_executions AS s ON s.step_execution_id = t.step_execution_id
INNER JOIN jobs_internal.job_steps AS d ON d.job_id = s.job_id AND d.version = s.job_version AND d.step_id = s.step_id
INNER JOIN jobs_internal.step_commands AS c ON c.command_id = d.command_id
WHERE k.kind = N'Run'
    AND c.command_type <> N'Upkeep'
    AND k.claimed_at > p.paused_at
    AND (p.resumed_at IS NULL OR k.claimed_at < p.resumed_at)
    AND (p.ends_at IS NULL OR k.claimed_at < p.ends_at);
