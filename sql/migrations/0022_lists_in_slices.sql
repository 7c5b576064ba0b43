-- Lists of targets are written in slices: see schema/jobs_internal.step_lists.sql.
CREATE TABLE jobs_internal.step_lists (
    step_execution_id BIGINT NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL,
    source            NVARCHAR(10) NOT NULL,
    task_id           BIGINT NULL,
    from_step         BIGINT NULL,
    after             BIGINT NOT NULL CONSTRAINT DF_step_lists_after DEFAULT 0,
    examined          INT NOT NULL CONSTRAINT DF_step_lists_examined DEFAULT 0,
    written           INT NOT NULL CONSTRAINT DF_step_lists_written DEFAULT 0,
    left_failed       BIT NOT NULL CONSTRAINT DF_step_lists_left_failed DEFAULT 0,
    left_canceled     BIT NOT NULL CONSTRAINT DF_step_lists_left_canceled DEFAULT 0,
    CONSTRAINT PK_step_lists PRIMARY KEY (step_execution_id),
    CONSTRAINT CK_step_lists_source CHECK (
        (source = N'Parts' AND task_id IS NOT NULL)
        OR (source IN (N'Origin', N'Whole', N'Failed') AND task_id IS NULL)
    )
);

CREATE TABLE jobs_internal.list_parts (
    task_id BIGINT NOT NULL,
    part    INT NOT NULL,
    targets NVARCHAR(MAX) NOT NULL,
    CONSTRAINT PK_list_parts PRIMARY KEY (task_id, part)
);

-- The targets of a step in the order of their keys, so that a slice of them is a range.
-- size: one key per target execution of the history; offline in editions that cannot build an index online
CREATE INDEX IX_target_executions_execution_id ON jobs_internal.target_executions (execution_id, step_execution_id, target_execution_id)
    WITH (DROP_EXISTING = ON);
