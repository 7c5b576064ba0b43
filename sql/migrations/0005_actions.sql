-- Lets steps be actions: types of commands, targets that are endpoints, callbacks, and the flags of what waits for them.
ALTER TABLE jobs_internal.step_commands DROP CONSTRAINT CK_step_commands_command_type;
ALTER TABLE jobs_internal.step_commands WITH CHECK ADD CONSTRAINT CK_step_commands_command_type CHECK (
    command_type IN (N'TSql', N'Http', N'StorageQueue', N'ServiceBusQueue', N'ServiceBusTopic', N'Process')
    OR (command_type = N'Upkeep' AND command = N'PurgeHistory')
);

ALTER TABLE jobs_internal.job_steps DROP CONSTRAINT CK_job_steps_on_unknown_outcome;
ALTER TABLE jobs_internal.job_steps WITH CHECK ADD CONSTRAINT CK_job_steps_on_unknown_outcome
    CHECK (on_unknown_outcome IN (N'Retry', N'Fail', N'Await'));

ALTER TABLE jobs_internal.terms ADD command_types NVARCHAR(400) NOT NULL CONSTRAINT DF_terms_command_types DEFAULT N'TSql';
-- A batch of its own, as all below that use new columns: this one is compiled before the columns exist.
EXECUTE sys.sp_executesql N'UPDATE t
SET t.command_types = N''TSql,Upkeep''
FROM jobs_internal.terms AS t
WHERE t.protocol >= 2;';

ALTER TABLE jobs_internal.job_executions ADD parked BIT NOT NULL CONSTRAINT DF_job_executions_parked DEFAULT 0;
ALTER TABLE jobs_internal.step_executions ADD parked BIT NOT NULL CONSTRAINT DF_step_executions_parked DEFAULT 0;
ALTER TABLE jobs_internal.target_executions ADD is_endpoint BIT NOT NULL CONSTRAINT DF_target_executions_is_endpoint DEFAULT 0;
ALTER TABLE jobs_internal.task_executions ADD send_began_at DATETIME2(7) NULL;

EXECUTE sys.sp_executesql N'ALTER TABLE jobs_internal.job_executions WITH CHECK ADD CONSTRAINT CK_job_executions_parked
    CHECK (parked = 0 OR is_active = 1);
ALTER TABLE jobs_internal.step_executions WITH CHECK ADD CONSTRAINT CK_step_executions_parked
    CHECK (parked = 0 OR lifecycle = N''WaitingForChildJobExecutions'');
DROP INDEX IX_job_executions_active ON jobs_internal.job_executions;
CREATE INDEX IX_job_executions_hot ON jobs_internal.job_executions (execution_id)
    INCLUDE (job_id, job_version, lifecycle, stop_requested_at, rerun_of)
    WHERE is_active = 1 AND parked = 0;
CREATE INDEX IX_job_executions_stopping ON jobs_internal.job_executions (stop_requested_at)
    WHERE is_active = 1 AND stop_requested_at IS NOT NULL;
CREATE INDEX IX_step_executions_hot ON jobs_internal.step_executions (execution_id)
    INCLUDE (lifecycle, step_id, job_id, job_version)
    WHERE is_active = 1 AND parked = 0;';

ALTER TABLE jobs_internal.target_executions DROP CONSTRAINT CK_target_executions_lifecycle;
ALTER TABLE jobs_internal.target_executions WITH CHECK ADD CONSTRAINT CK_target_executions_lifecycle CHECK (
    (is_active = 1 AND end_time IS NULL
        AND lifecycle IN (N'Created', N'InProgress', N'WaitingForChildJobExecutions', N'WaitingForRetry'))
    OR (is_active = 1 AND end_time IS NULL AND next_attempt_at IS NULL AND lifecycle = N'WaitingForCallback')
    OR (is_active = 0 AND end_time IS NOT NULL AND next_attempt_at IS NULL
        AND lifecycle IN (N'Succeeded', N'SucceededWithSkipped', N'Failed', N'TimedOut', N'Canceled', N'Skipped'))
);
CREATE INDEX IX_target_executions_waiting ON jobs_internal.target_executions (step_execution_id)
    WHERE lifecycle = N'WaitingForCallback';

ALTER TABLE jobs_internal.task_executions DROP CONSTRAINT CK_task_executions_outcome;
ALTER TABLE jobs_internal.task_executions WITH CHECK ADD CONSTRAINT CK_task_executions_outcome CHECK (
    (ended_at IS NULL AND outcome IS NULL)
    OR (ended_at IS NOT NULL
        AND outcome IN (
            N'Succeeded', N'Failed', N'TimedOut', N'Canceled', N'Unknown', N'Returned', N'Accepted', N'NoAnswer'
        ))
);

ALTER TABLE jobs_internal.task_messages DROP CONSTRAINT CK_task_messages_kind;
ALTER TABLE jobs_internal.task_messages ALTER COLUMN kind NVARCHAR(20) NOT NULL;
ALTER TABLE jobs_internal.task_messages WITH CHECK ADD CONSTRAINT CK_task_messages_kind CHECK (
    kind IN (N'Info', N'Error', N'Rows', N'Agent', N'Response', N'Body', N'Output', N'ErrorOutput', N'Exit')
);

CREATE TABLE jobs_internal.callbacks (
    target_execution_id BIGINT NOT NULL,
    attempt             INT NOT NULL,
    execution_id        BIGINT NOT NULL,
    task_id             BIGINT NOT NULL,
    token_hash          BINARY(32) NULL,
    timeout_seconds     INT NULL,
    acked               BIT NOT NULL CONSTRAINT DF_callbacks_acked DEFAULT 0,
    opened_at           DATETIME2(7) NOT NULL,
    deadline_at         DATETIME2(7) NULL,
    success             BIT NULL,
    message             NVARCHAR(MAX) NULL,
    received_at         DATETIME2(7) NULL,
    received_by         NVARCHAR(128) NULL,
    closed_at           DATETIME2(7) NULL,
    closed_by           NVARCHAR(10) NULL,
    late                NVARCHAR(MAX) NULL,
    CONSTRAINT PK_callbacks PRIMARY KEY (target_execution_id, attempt),
    CONSTRAINT CK_callbacks_success CHECK (
        (success IS NULL AND received_at IS NULL) OR (success IS NOT NULL AND received_at IS NOT NULL)
    ),
    CONSTRAINT CK_callbacks_closed_by CHECK (
        (closed_at IS NULL AND closed_by IS NULL)
        OR (closed_at IS NOT NULL AND closed_by IN (N'Report', N'Deadline', N'Stop', N'Attempt'))
    )
);

CREATE UNIQUE INDEX UQ_callbacks_token_hash ON jobs_internal.callbacks (token_hash)
    WHERE token_hash IS NOT NULL;
CREATE INDEX IX_callbacks_execution_id ON jobs_internal.callbacks (execution_id);
-- The callbacks for which targets wait: by deadline, and those that have a report.
CREATE INDEX IX_callbacks_deadline_at ON jobs_internal.callbacks (deadline_at)
    WHERE deadline_at IS NOT NULL AND closed_at IS NULL;
CREATE INDEX IX_callbacks_received_at ON jobs_internal.callbacks (received_at)
    WHERE received_at IS NOT NULL AND deadline_at IS NOT NULL AND closed_at IS NULL;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.callbacks SET (LOCK_ESCALATION = DISABLE);
