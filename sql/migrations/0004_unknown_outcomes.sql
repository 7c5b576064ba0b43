-- Makes the outcome of a target's latest attempt, if nobody can say it, part of the target's state, whatever lifecycle the target has.
-- It is that of the latest task that ended, but for those of which nothing was sent.
ALTER TABLE jobs_internal.target_executions ADD outcome_unknown BIT NOT NULL CONSTRAINT DF_target_executions_outcome_unknown DEFAULT 0;

-- A batch of its own: this one is compiled before the column exists.
EXECUTE sys.sp_executesql N'WITH latest AS (
    SELECT k.target_execution_id, MAX(k.task_id) AS task_id
    FROM jobs_internal.task_executions AS k
    WHERE k.kind = N''Run''
        AND k.ended_at IS NOT NULL
        AND k.outcome <> N''Returned''
        AND k.unreached = 0
    GROUP BY k.target_execution_id
)
UPDATE t
SET t.outcome_unknown = 1
FROM latest AS l
INNER JOIN jobs_internal.task_executions AS k ON k.task_id = l.task_id
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = l.target_execution_id
WHERE k.outcome = N''Unknown''
    AND t.lifecycle NOT IN (N''Succeeded'', N''SucceededWithSkipped'', N''Skipped'');';

ALTER TABLE jobs_internal.target_executions WITH CHECK ADD CONSTRAINT CK_target_executions_outcome_unknown CHECK (
    outcome_unknown = 0 OR lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped', N'Skipped')
);
