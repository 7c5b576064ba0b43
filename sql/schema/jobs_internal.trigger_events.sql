-- Runs that ended and that a trigger watches: at most one row for each trigger and run (I26). The transaction that ends the run stores it.
--
-- Columns:
--   event_id               Internal key, in order of occurrence.
--   trigger_id, job_id     The trigger and the job that it starts. No foreign keys: the transaction that ends a run waits for no row of
--                          them.
--   generation             That of the trigger when the run ended.
--   upstream_job_id        The job whose run ended.
--   upstream_execution_id  The run that ended. No foreign key: it may be purged.
--   upstream_run           Its public id.
--   upstream_lifecycle     What it ended with.
--   created_at             When it ended.
--   is_waiting             1: the run that it starts has not been created yet.
--   ended_at               When it was started or skipped.
--   execution_id           The run that it started; NULL: it waits, or was skipped. No foreign key, as above.
--   reason                 Why it was skipped (I10); NULL: it was not.
CREATE TABLE jobs_internal.trigger_events (
    event_id              BIGINT NOT NULL IDENTITY(1, 1),
    trigger_id            BIGINT NOT NULL,
    generation            INT NOT NULL,
    job_id                UNIQUEIDENTIFIER NOT NULL,
    upstream_job_id       UNIQUEIDENTIFIER NOT NULL,
    upstream_execution_id BIGINT NOT NULL,
    upstream_run          UNIQUEIDENTIFIER NOT NULL,
    upstream_lifecycle    NVARCHAR(50) NOT NULL,
    created_at            DATETIME2(7) NOT NULL,
    is_waiting            BIT NOT NULL,
    ended_at              DATETIME2(7) NULL,
    execution_id          BIGINT NULL,
    reason                NVARCHAR(4000) NULL,
    CONSTRAINT PK_trigger_events PRIMARY KEY (event_id),
    CONSTRAINT UQ_trigger_events_run UNIQUE (trigger_id, upstream_execution_id),
    CONSTRAINT CK_trigger_events_is_waiting CHECK (
        (is_waiting = 1 AND ended_at IS NULL AND execution_id IS NULL AND reason IS NULL)
        OR (is_waiting = 0 AND ended_at IS NOT NULL AND execution_id IS NOT NULL AND reason IS NULL)
        OR (is_waiting = 0 AND ended_at IS NOT NULL AND execution_id IS NULL AND reason IS NOT NULL)
    )
);

CREATE INDEX IX_trigger_events_waiting ON jobs_internal.trigger_events (job_id, trigger_id, upstream_job_id, event_id)
    INCLUDE (generation)
    WHERE is_waiting = 1;
CREATE INDEX IX_trigger_events_execution_id ON jobs_internal.trigger_events (execution_id)
    WHERE execution_id IS NOT NULL;
CREATE INDEX IX_trigger_events_upstream_run ON jobs_internal.trigger_events (upstream_run);
CREATE INDEX IX_trigger_events_created_at ON jobs_internal.trigger_events (created_at);

-- Many runs may end at once; a table lock would block passes (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.trigger_events SET (LOCK_ESCALATION = DISABLE);
