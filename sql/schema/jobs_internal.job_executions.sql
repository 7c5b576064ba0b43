-- Runs of jobs: the root rows of jobs.job_executions.
--
-- Columns:
--   execution_id       Internal key, in order of creation.
--   job_execution_id   Public id.
--   job_id, job_version  The job; the version is fixed when the run is created (I3).
--   lifecycle          See DESIGN.md, "Lifecycles".
--   is_active          1 for the four lifecycles that are not final.
--   create_time        When the row was created.
--   start_time         When its first step was created.
--   end_time           When it became final.
--   schedule_id, due_at  The due instant of the run; NULL for a run that was started by hand. Unique (I2).
--   backfill_id        Backfill that requested it; NULL: none.
--   allow_overlap      1: its targets are not Skipped because an older run of the job is busy on them.
--   unaccounted        1: a run of a schedule for which the schedule has not accounted yet (end_scheduled_runs); 0
--                      otherwise.
--   started_by         Login that started it by hand; NULL for schedules.
--   stop_requested_at, stop_requested_by  The stop request, if any.
--   rerun_of           Run whose targets are run again; NULL for all others. No foreign key: that run may be purged
--                      once the rerun has ended.
--   rerun_only         Final states of targets that are run again, separated by commas: Canceled, Failed, Skipped,
--                      TimedOut, Unknown; NULL for all others.
--   rerun_partial      1: the rerun excludes failures of rerun_of, so steps that rerun_of did not reach are skipped;
--                      NULL for all others.
--   last_message       Message of the latest event.
--   purged_at          When it was purged: it is invisible, and its rows are deleted in small batches. A purge hides
--                      its runs before it marks them: read runs in the view jobs_internal.visible_runs.
--   parked             1: each of its active steps is parked, so passes do not read the run (DESIGN.md, "Parking").
--   payload_id         Its parameters, fixed when the run is created; NULL: none. No foreign key: see
--                      jobs_internal.payloads.
--   only_targets       The chosen databases to which the run is limited, fixed when it is created: a JSON array of objects with target_id,
--                      server_name and database_name, as jobs_internal.check_only_targets makes it. NULL: all of its target groups.
--   traceparent        The span of the caller who started it (W3C Trace Context), for the links of its trace; NULL: none.
--   rollout_start      What becomes of the plan of its version: Plain (the run ignores it) or Hold (the roll-out is paused when its targets
--                      are assigned to waves); NULL: the roll-out goes on at once. Without effect if the version has no plan.
--   rollout_of         The roll-out's own run, if this is one of the runs of its waves; NULL for all others. No foreign key, as rerun_of.
--   rollout_wave       Number of the wave; NULL likewise.
--   rollout_probe      1: it is a run of the wave's probe job, or a preflight, on the targets of the wave.
--   mode               What becomes of its scripts: Trial (each runs in a transaction that is rolled back) or Preflight (none runs; what it
--                      needs is checked); NULL: they run. DESIGN.md, "Trial and preflight".
--   mode_options       The options of the mode, a JSON object, as jobs.sp_start_job describes them; NULL: none.
--   ignore_windows     1: its targets, and those of the waves of its roll-out, do not wait for the windows of their databases.
--   drains             1: a stop request cancels only what has not begun; what runs, or waits for a callback, goes on to its end.
--   upstream_runs      Of a run that a trigger started on the databases on which its upstream jobs succeeded (@targets of
--                      jobs.sp_add_job_trigger), and of its reruns: the internal keys of their runs, separated by commas, at most five of
--                      each job, the latest first; negative: a roll-out. NULL: it has all databases.
CREATE TABLE jobs_internal.job_executions (
    execution_id      BIGINT NOT NULL IDENTITY(1, 1),
    job_execution_id  UNIQUEIDENTIFIER NOT NULL,
    job_id            UNIQUEIDENTIFIER NOT NULL,
    job_version       INT NOT NULL,
    lifecycle         NVARCHAR(50) NOT NULL,
    is_active         BIT NOT NULL,
    create_time       DATETIME2(7) NOT NULL,
    start_time        DATETIME2(7) NULL,
    end_time          DATETIME2(7) NULL,
    schedule_id       BIGINT NULL,
    due_at            DATETIME2(7) NULL,
    backfill_id       BIGINT NULL,
    allow_overlap     BIT NOT NULL CONSTRAINT DF_job_executions_allow_overlap DEFAULT 0,
    unaccounted       BIT NOT NULL CONSTRAINT DF_job_executions_unaccounted DEFAULT 0,
    started_by        NVARCHAR(128) NULL,
    stop_requested_at DATETIME2(7) NULL,
    stop_requested_by NVARCHAR(128) NULL,
    rerun_of          BIGINT NULL,
    rerun_only        NVARCHAR(200) NULL,
    rerun_partial     BIT NULL,
    last_message      NVARCHAR(MAX) NULL,
    purged_at         DATETIME2(7) NULL,
    parked            BIT NOT NULL CONSTRAINT DF_job_executions_parked DEFAULT 0,
    payload_id        BIGINT NULL,
    traceparent       NVARCHAR(55) NULL,
    only_targets      NVARCHAR(MAX) NULL,
    rollout_start     NVARCHAR(10) NULL,
    rollout_of        BIGINT NULL,
    rollout_wave      INT NULL,
    rollout_probe     BIT NULL,
    drains            BIT NULL,
    mode              NVARCHAR(10) NULL,
    mode_options      NVARCHAR(400) NULL,
    ignore_windows    BIT NULL,
    upstream_runs    NVARCHAR(4000) NULL,
    CONSTRAINT PK_job_executions PRIMARY KEY (execution_id),
    CONSTRAINT UQ_job_executions_job_execution_id UNIQUE (job_execution_id) WITH (FILLFACTOR = 85),
    CONSTRAINT FK_job_executions_job_versions FOREIGN KEY (job_id, job_version)
        REFERENCES jobs_internal.job_versions (job_id, version),
    CONSTRAINT CK_job_executions_lifecycle CHECK (
        (is_active = 1 AND end_time IS NULL
            AND lifecycle IN (N'Created', N'InProgress', N'WaitingForChildJobExecutions', N'WaitingForRetry'))
        OR (is_active = 0 AND end_time IS NOT NULL
            AND lifecycle IN (N'Succeeded', N'SucceededWithSkipped', N'Failed', N'TimedOut', N'Canceled', N'Skipped'))
    ),
    CONSTRAINT CK_job_executions_parked CHECK (parked = 0 OR is_active = 1),
    CONSTRAINT CK_job_executions_due_at CHECK (
        (schedule_id IS NULL AND due_at IS NULL)
        OR (schedule_id IS NOT NULL AND due_at IS NOT NULL)
    ),
    CONSTRAINT CK_job_executions_rerun_of CHECK (
        (rerun_of IS NULL AND rerun_only IS NULL AND rerun_partial IS NULL)
        OR (rerun_of IS NOT NULL AND rerun_only IS NOT NULL AND rerun_partial IS NOT NULL)
    ),
    CONSTRAINT CK_job_executions_mode CHECK (
        (mode IS NULL AND mode_options IS NULL)
        OR (mode IN (N'Trial', N'Preflight') AND (mode_options IS NULL OR ISJSON(mode_options) = 1))
    )
);

CREATE UNIQUE INDEX UQ_job_executions_due_at ON jobs_internal.job_executions (schedule_id, due_at)
    INCLUDE (job_id, create_time, end_time, purged_at)
    WHERE schedule_id IS NOT NULL;
CREATE INDEX IX_job_executions_due_at ON jobs_internal.job_executions (due_at DESC, schedule_id)
    WHERE schedule_id IS NOT NULL;
CREATE INDEX IX_job_executions_hot ON jobs_internal.job_executions (execution_id)
    INCLUDE (job_id, job_version, lifecycle, stop_requested_at, rerun_of)
    WHERE is_active = 1 AND parked = 0;
CREATE INDEX IX_job_executions_stopping ON jobs_internal.job_executions (stop_requested_at)
    WHERE is_active = 1 AND stop_requested_at IS NOT NULL;
CREATE INDEX IX_job_executions_active_job_id ON jobs_internal.job_executions (job_id, is_active)
    WHERE is_active = 1;
CREATE INDEX IX_job_executions_active_schedule_id ON jobs_internal.job_executions (schedule_id, execution_id)
    WHERE is_active = 1 AND schedule_id IS NOT NULL;
CREATE INDEX IX_job_executions_unaccounted ON jobs_internal.job_executions (execution_id)
    INCLUDE (job_id, schedule_id, lifecycle, end_time)
    WHERE unaccounted = 1 AND is_active = 0;
CREATE INDEX IX_job_executions_job_id ON jobs_internal.job_executions (job_id, start_time);
CREATE INDEX IX_job_executions_job_id_create_time ON jobs_internal.job_executions (job_id, create_time DESC, job_execution_id);
CREATE INDEX IX_job_executions_start_time ON jobs_internal.job_executions (start_time);
CREATE INDEX IX_job_executions_job_id_lifecycle ON jobs_internal.job_executions (job_id, lifecycle, end_time)
    WHERE is_active = 0;
CREATE INDEX IX_job_executions_create_time ON jobs_internal.job_executions (create_time DESC, job_execution_id);
CREATE INDEX IX_job_executions_active_create_time ON jobs_internal.job_executions (create_time DESC, job_execution_id)
    INCLUDE (job_id, lifecycle, end_time, purged_at)
    WHERE is_active = 1;
CREATE INDEX IX_job_executions_end_time ON jobs_internal.job_executions (end_time)
    INCLUDE (job_id, create_time, purged_at)
    WHERE is_active = 0 AND purged_at IS NULL;
CREATE INDEX IX_job_executions_unsuccessful ON jobs_internal.job_executions (end_time)
    INCLUDE (job_execution_id, job_id, job_version, create_time, purged_at)
    WHERE lifecycle IN (N'Canceled', N'Failed', N'TimedOut');
CREATE INDEX IX_job_executions_purged_at ON jobs_internal.job_executions (purged_at)
    WHERE purged_at IS NOT NULL;
CREATE INDEX IX_job_executions_active_rerun_of ON jobs_internal.job_executions (rerun_of)
    INCLUDE (execution_id, stop_requested_at)
    WHERE is_active = 1 AND rerun_of IS NOT NULL;

CREATE INDEX IX_job_executions_rerun_of ON jobs_internal.job_executions (rerun_of)
    WHERE rerun_of IS NOT NULL;
CREATE INDEX IX_job_executions_active_mode ON jobs_internal.job_executions (execution_id)
    INCLUDE (mode)
    WHERE is_active = 1 AND mode IS NOT NULL;
CREATE INDEX IX_job_executions_active_upstream_runs ON jobs_internal.job_executions (execution_id)
    INCLUDE (upstream_runs)
    WHERE is_active = 1 AND upstream_runs IS NOT NULL;
CREATE INDEX IX_job_executions_payload_id ON jobs_internal.job_executions (payload_id)
    WHERE payload_id IS NOT NULL;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.job_executions SET (LOCK_ESCALATION = DISABLE);
