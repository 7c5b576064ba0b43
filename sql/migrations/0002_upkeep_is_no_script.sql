-- Makes the retention of history a call of the agents' own (command type Upkeep) instead of a script that runs on the control database
-- as a target. Active executions of jobagent$history_retention go on with it: what of them has not begun yet is the call. A version
-- that somebody has edited stays as it is, and agents make a new one. The target group goes, unless such a version needs it.
DECLARE @script NVARCHAR(MAX) = N'DECLARE @deleted INT = 1;
WHILE @deleted > 0
    EXECUTE jobs_internal.purge_history @batch_size = 100, @deleted = @deleted OUTPUT;';
DECLARE @converted TABLE (command_id BIGINT NOT NULL PRIMARY KEY);

ALTER TABLE jobs_internal.step_commands DROP CONSTRAINT CK_step_commands_command_type;
ALTER TABLE jobs_internal.step_commands WITH CHECK ADD CONSTRAINT CK_step_commands_command_type CHECK (
    command_type = N'TSql' OR (command_type = N'Upkeep' AND command = N'PurgeHistory')
);

-- An id has another text from now on, once: agents that may have read the former one are of protocol 1, and get no such tasks.
UPDATE c
SET c.command_type = N'Upkeep',
    c.command = N'PurgeHistory'
OUTPUT inserted.command_id INTO @converted (command_id)
FROM jobs_internal.step_commands AS c
INNER JOIN jobs_internal.jobs AS j ON j.job_id = c.job_id
WHERE j.is_system = 1
    AND c.command = @script;
UPDATE s
SET s.target_group_id = '00000000-0000-0000-0000-000000000000',
    s.target_group_name = N'(control database)',
    s.credential_name = NULL,
    s.max_parallelism = NULL,
    s.output_type = NULL,
    s.on_unknown_outcome = N'Retry',
    s.at_most_once = 0
FROM @converted AS c
INNER JOIN jobs_internal.job_steps AS s ON s.command_id = c.command_id;

-- Its members go with it.
DELETE g
FROM jobs_internal.target_groups AS g
WHERE g.name = N'jobagent$control_database'
    AND NOT EXISTS (
        SELECT 1
        FROM jobs_internal.job_steps AS s
        INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id
        WHERE s.target_group_id = g.target_group_id
            AND (
                s.version = j.current_version
                OR EXISTS (
                    SELECT 1
                    FROM jobs_internal.job_executions AS e
                    WHERE e.job_id = s.job_id
                        AND e.job_version = s.version
                        AND e.is_active = 1
                )
            )
    );
