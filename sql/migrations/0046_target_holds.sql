-- Lets databases be paused. Attempts that wait for the end of a pause have a far next_attempt_at, and held_by names the pause; no row has one yet.
CREATE TABLE jobs_internal.target_pauses (
    pause_id      BIGINT NOT NULL IDENTITY(1, 1),
    target_id     UNIQUEIDENTIFIER NOT NULL,
    server_name   NVARCHAR(256) NOT NULL,
    database_name NVARCHAR(128) NOT NULL,
    reason        NVARCHAR(1000) NULL,
    paused_at     DATETIME2(7) NOT NULL,
    paused_by     NVARCHAR(128) NULL,
    ends_at       DATETIME2(7) NULL,
    resumed_at    DATETIME2(7) NULL,
    CONSTRAINT PK_target_pauses PRIMARY KEY (pause_id)
);

CREATE UNIQUE INDEX UQ_target_pauses_target_id ON jobs_internal.target_pauses (target_id)
    INCLUDE (ends_at, resumed_at)
    WHERE resumed_at IS NULL;
CREATE INDEX IX_target_pauses_ends_at ON jobs_internal.target_pauses (ends_at)
    INCLUDE (resumed_at)
    WHERE ends_at IS NOT NULL AND resumed_at IS NULL;
CREATE INDEX IX_target_pauses_resumed_at ON jobs_internal.target_pauses (resumed_at)
    WHERE resumed_at IS NOT NULL;

ALTER TABLE jobs_internal.target_executions ADD held_by BIGINT NULL;

-- size: reads all targets of all runs, and none is in it yet; online in Enterprise, Developer and Azure, otherwise claims and outcomes wait
CREATE INDEX IX_target_executions_held_by ON jobs_internal.target_executions (held_by, target_execution_id)
    INCLUDE (next_attempt_at)
    WHERE held_by IS NOT NULL AND next_attempt_at IS NOT NULL;
