-- Steps of runs: the rows of jobs.job_executions whose target_type is TargetGroup. A row is created when the step's
-- turn comes; its settings are those of its version's row in job_steps.
--
-- Columns:
--   step_execution_id   Internal key.
--   execution_id        The run.
--   job_id, job_version, step_id  The step; immutable.
--   lifecycle           See DESIGN.md, "Lifecycles".
--   is_active           1 for the four lifecycles that are not final.
--   create_time         When the row was created.
--   start_time          When the first resolution of its target group began.
--   end_time            When it became final.
--   attempts            Number of attempts to resolve the target group.
--   attempt_start_time  When the latest attempt began.
--   next_attempt_at     When the next attempt may begin; NULL if none is due.
--   resolved_at         When the list of targets was frozen; NULL before.
--   last_message        Message of the latest event.
--   parked              1: each of its active targets waits for a callback, so passes do not read the step (DESIGN.md,
--                       "Parking").
--   waits_for_list      1: the list of the targets on which the steps before it failed, or succeeded, is not frozen yet
--                       (freeze_failed_targets).
--   unfollowed          1: when the step has ended, advance has to look for the steps that come after it; it then becomes 0.
--                       Only steps of versions with dependencies have it.
--   skipped_by_condition  1: it was Skipped because its condition (run_when) does not hold. The lifecycle of the run does not
--                       depend on it.
--   result              For the steps that come after it, whatever its lifecycle is: Failed or Canceled; NULL: as the
--                       lifecycle says. See DESIGN.md, "Dependencies".
--   targets             Number of its targets, since their list is complete; NULL: it has none, the list is not complete, or it was
--                       completed under a schema before version 38 and the step has not ended.
--   not_succeeded       Number of those that ended as Failed, TimedOut or Canceled, as end_steps counted them; NULL: the
--                       step had none, or has not ended.
--   tolerated           Number of its targets that failed or timed out and are tolerated (tolerated_failures of job_steps): the
--                       step succeeded with them; NULL: none.
CREATE TABLE jobs_internal.step_executions (
    step_execution_id  BIGINT NOT NULL IDENTITY(1, 1),
    execution_id       BIGINT NOT NULL,
    job_id             UNIQUEIDENTIFIER NOT NULL,
    job_version        INT NOT NULL,
    step_id            INT NOT NULL,
    lifecycle          NVARCHAR(50) NOT NULL,
    is_active          BIT NOT NULL,
    create_time        DATETIME2(7) NOT NULL,
    start_time         DATETIME2(7) NULL,
    end_time           DATETIME2(7) NULL,
    attempts           INT NOT NULL CONSTRAINT DF_step_executions_attempts DEFAULT 0,
    attempt_start_time DATETIME2(7) NULL,
    next_attempt_at    DATETIME2(7) NULL,
    resolved_at        DATETIME2(7) NULL,
    last_message       NVARCHAR(MAX) NULL,
    parked             BIT NOT NULL CONSTRAINT DF_step_executions_parked DEFAULT 0,
    waits_for_list     BIT NOT NULL CONSTRAINT DF_step_executions_waits_for_list DEFAULT 0,
    unfollowed         BIT NOT NULL CONSTRAINT DF_step_executions_unfollowed DEFAULT 0,
    skipped_by_condition BIT NOT NULL CONSTRAINT DF_step_executions_skipped_by_condition DEFAULT 0,
    result             NVARCHAR(10) NULL,
    targets            INT NULL,
    not_succeeded      INT NULL,
    tolerated          INT NULL,
    CONSTRAINT PK_step_executions PRIMARY KEY (step_execution_id),
    CONSTRAINT UQ_step_executions_step_id UNIQUE (execution_id, step_id),
    CONSTRAINT UQ_step_executions_execution_id UNIQUE (execution_id, step_execution_id), -- for the foreign key of tasks
    CONSTRAINT FK_step_executions_job_executions FOREIGN KEY (execution_id)
        REFERENCES jobs_internal.job_executions (execution_id),
    CONSTRAINT CK_step_executions_parked CHECK (parked = 0 OR lifecycle = N'WaitingForChildJobExecutions'),
    CONSTRAINT CK_step_executions_skipped_by_condition CHECK (skipped_by_condition = 0 OR lifecycle = N'Skipped'),
    CONSTRAINT CK_step_executions_result CHECK (result IN (N'Failed', N'Canceled')),
    CONSTRAINT CK_step_executions_lifecycle CHECK (
        (is_active = 1 AND end_time IS NULL
            AND lifecycle IN (N'Created', N'InProgress', N'WaitingForChildJobExecutions', N'WaitingForRetry'))
        OR (is_active = 0 AND end_time IS NOT NULL AND next_attempt_at IS NULL
            AND lifecycle IN (N'Succeeded', N'SucceededWithSkipped', N'Failed', N'TimedOut', N'Canceled', N'Skipped'))
    )
);

CREATE INDEX IX_step_executions_active ON jobs_internal.step_executions (execution_id)
    INCLUDE (lifecycle, step_id, job_id, job_version)
    WHERE is_active = 1;
CREATE INDEX IX_step_executions_hot ON jobs_internal.step_executions (execution_id)
    INCLUDE (lifecycle, step_id, job_id, job_version)
    WHERE is_active = 1 AND parked = 0;
CREATE INDEX IX_step_executions_due ON jobs_internal.step_executions (next_attempt_at, step_execution_id)
    WHERE next_attempt_at IS NOT NULL;
-- Both contain only steps of versions with dependencies, until a pass has served them.
CREATE INDEX IX_step_executions_waits_for_list ON jobs_internal.step_executions (job_id, step_execution_id)
    WHERE waits_for_list = 1 AND is_active = 1;
CREATE INDEX IX_step_executions_unfollowed ON jobs_internal.step_executions (execution_id, step_execution_id)
    WHERE unfollowed = 1 AND is_active = 0;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.step_executions SET (LOCK_ESCALATION = DISABLE);
