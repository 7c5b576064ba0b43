-- Schedules. Each job has one with an empty name: the schedule of jobs.sp_add_job. The others are those of
-- jobs.sp_add_schedule. T-SQL cannot read their text, so an agent validates it and computes the due instants.
--
-- Columns:
--   schedule_id     Id of the schedule.
--   job_id          The schedule's job.
--   name            Unique within the job; empty for the schedule of jobs.sp_add_job.
--   kind            Kind of the text: elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule.
--   spec            Text of the schedule; NULL for the schedule of jobs.sp_add_job, which has interval_type to end_time
--                   instead.
--   interval_type   Once, Minutes, Hours, Days, Weeks or Months.
--   interval_count  Units between two due instants.
--   start_time      Earliest instant at which a run may begin.
--   end_time        Instant after which none may begin.
--   time_zone       IANA or Windows name of the zone in which spec is read; NULL: the zone that spec names, else the
--                   kind's default.
--   catch_up        Policy for missed runs: last, none, all, window:<duration>, sap-20min; NULL: the policy in spec,
--                   else last.
--   overlap         Policy while an earlier run is active: see check_overlap.
--   pause_on_failure  1: a run that ends Failed or TimedOut pauses the schedule.
--   enabled         1: due instants become runs, unless the schedule is paused.
--   paused          1: paused until it is resumed.
--   paused_by, paused_at, pause_note  Login, time and note of the latest pause or resumption; a later note has its login, but not its time.
--   state           Enabled, Disabled (or paused), Completed (no due instant is left) or Faulted (the text is invalid).
--   reason          Explanation of the state; NULL if none is needed.
--   closed_at       When it became Completed or Faulted; NULL in all other states, and for the schedule of
--                   jobs.sp_add_job.
--   revision        Increases with every change of definition or activation: a validation of an earlier revision is
--                   ignored.
--   awaits_verdict  1: the schedule waits for validation by an agent.
--   validated_at    When an agent last validated it; NULL: not since it was changed.
--   zone            Zone that the validation determined.
--   engine          Program and time zone data of the validation.
--   validation_errors  All errors of the text, as JSON {"errors": [...]}; NULL: none.
--   warnings        Parts of the text whose meaning may be surprising, as a JSON array; NULL: none.
--   upcoming        The next instants, as of the latest validation or firing: a JSON array of at most ten.
--   anchor_at       Origin of the grid of due instants (decision 10); NULL: the schedule was never enabled, or the text
--                   defines it.
--   activated_at    Latest change of definition or activation: instants due before it are dropped (D-P7).
--   next_due_at     The next due instant that has not been handled; NULL: none is known.
--   next_fire_at    When next_due_at is handled: it plus the jitter; NULL if next_due_at is NULL.
--   last_due_at     The last due instant that was handled.
--   last_started_at  When its latest run was created (not by a backfill).
--   executions      Number of runs that it has started.
--   counted_from    Number of executions that do not count toward a count in the text (D-P3): those before kind or spec
--                   last changed, and those of backfills since then.
--   failures        Number of failed attempts of its runs.
--   faults          Number of its runs that ended Failed or TimedOut.
--   skips           Number of due instants that were recorded as skipped.
--   skips_overlap, skips_catch_up  Number of these due to the overlap policy, and to the catch-up policy.
--   buffered        Number of instants that wait for an earlier run to end: its rows in schedule_buffer.
--   last_execution_id  Its latest run, by the internal key; NULL: none yet.
--   last_job_execution_id  Public id of its latest run.
--   last_lifecycle  Lifecycle in which its latest run ended; NULL while that run is active.
--   created_at      When the schedule was added.
--   defined_at      When kind or spec last changed; NULL: when the schedule was added. A text such as "tomorrow at 4pm"
--                   is relative to it.
--   updated_at      When the definition was last changed.
--   payload_id      Parameters of its runs; NULL: none. No foreign key: see jobs_internal.payloads.
--   run_payload_id  Parameters of its runs, with the defaults of those that the job declares; NULL: payload_id has them, or
--                   parameters_fault is set. No foreign key: see jobs_internal.payloads.
--   parameters_fault  Why its parameters do not fit what the job declares, so that no run starts; NULL: they do.
--   main_attempts, main_failures  Number of attempts of the first step in its runs, and of those that failed; counted for the kind
--                   azure-scheduler only, also in runs that were started by hand.
--   next_run_id     Id of the run at next_due_at, made with that instant; only of schedules of the SAP surface, NULL for all others.
--   next_run_made_at  When next_run_id was made for that instant; NULL: not yet.
--   description     The schedule in English words, as of the latest validation; NULL: not validated, by an agent of an earlier release,
--                   or the schedule of jobs.sp_add_job.
--   recheck_at      When the validation must be renewed, because warnings name dates that have passed by then; NULL: never.
CREATE TABLE jobs_internal.schedules (
    schedule_id           BIGINT NOT NULL IDENTITY(1, 1),
    job_id                UNIQUEIDENTIFIER NOT NULL,
    name                  NVARCHAR(128) NOT NULL CONSTRAINT DF_schedules_name DEFAULT N'',
    kind                  NVARCHAR(20) NOT NULL CONSTRAINT DF_schedules_kind DEFAULT N'elastic',
    spec                  NVARCHAR(MAX) NULL,
    interval_type         NVARCHAR(50) NULL,
    interval_count        INT NULL,
    start_time            DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_start_time DEFAULT '0001-01-01T00:00:00',
    end_time              DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_end_time DEFAULT '9999-12-31T11:59:59',
    time_zone             NVARCHAR(128) NULL CONSTRAINT DF_schedules_time_zone DEFAULT N'UTC',
    catch_up              NVARCHAR(50) NULL,
    overlap               NVARCHAR(20) NOT NULL CONSTRAINT DF_schedules_overlap DEFAULT N'Elastic',
    pause_on_failure      BIT NOT NULL CONSTRAINT DF_schedules_pause_on_failure DEFAULT 0,
    enabled               BIT NOT NULL CONSTRAINT DF_schedules_enabled DEFAULT 0,
    paused                BIT NOT NULL CONSTRAINT DF_schedules_paused DEFAULT 0,
    paused_by             NVARCHAR(128) NULL,
    paused_at             DATETIME2(7) NULL,
    pause_note            NVARCHAR(1000) NULL,
    state                 NVARCHAR(20) NOT NULL CONSTRAINT DF_schedules_state DEFAULT N'Disabled',
    reason                NVARCHAR(4000) NULL,
    closed_at             DATETIME2(7) NULL,
    revision              INT NOT NULL CONSTRAINT DF_schedules_revision DEFAULT 1,
    awaits_verdict        BIT NOT NULL CONSTRAINT DF_schedules_awaits_verdict DEFAULT 0,
    validated_at          DATETIME2(7) NULL,
    zone                  NVARCHAR(128) NULL,
    engine                NVARCHAR(128) NULL,
    validation_errors     NVARCHAR(MAX) NULL,
    warnings              NVARCHAR(MAX) NULL,
    upcoming              NVARCHAR(MAX) NULL,
    anchor_at             DATETIME2(7) NULL,
    activated_at          DATETIME2(7) NULL,
    next_due_at           DATETIME2(7) NULL,
    next_fire_at          DATETIME2(7) NULL,
    last_due_at           DATETIME2(7) NULL,
    last_started_at       DATETIME2(7) NULL,
    executions            BIGINT NOT NULL CONSTRAINT DF_schedules_executions DEFAULT 0,
    counted_from          BIGINT NOT NULL CONSTRAINT DF_schedules_counted_from DEFAULT 0,
    failures              BIGINT NOT NULL CONSTRAINT DF_schedules_failures DEFAULT 0,
    faults                BIGINT NOT NULL CONSTRAINT DF_schedules_faults DEFAULT 0,
    skips                 BIGINT NOT NULL CONSTRAINT DF_schedules_skips DEFAULT 0,
    skips_overlap         BIGINT NOT NULL CONSTRAINT DF_schedules_skips_overlap DEFAULT 0,
    skips_catch_up        BIGINT NOT NULL CONSTRAINT DF_schedules_skips_catch_up DEFAULT 0,
    buffered              INT NOT NULL CONSTRAINT DF_schedules_buffered DEFAULT 0,
    last_execution_id     BIGINT NULL,
    last_job_execution_id UNIQUEIDENTIFIER NULL,
    last_lifecycle        NVARCHAR(50) NULL,
    created_at            DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_created_at DEFAULT SYSUTCDATETIME(),
    defined_at            DATETIME2(7) NULL,
    updated_at            DATETIME2(7) NOT NULL CONSTRAINT DF_schedules_updated_at DEFAULT SYSUTCDATETIME(),
    payload_id            BIGINT NULL,
    main_attempts         BIGINT NOT NULL CONSTRAINT DF_schedules_main_attempts DEFAULT 0,
    main_failures         BIGINT NOT NULL CONSTRAINT DF_schedules_main_failures DEFAULT 0,
    next_run_id           UNIQUEIDENTIFIER NULL,
    next_run_made_at      DATETIME2(7) NULL,
    description           NVARCHAR(4000) NULL,
    recheck_at            DATETIME2(7) NULL,
    run_payload_id        BIGINT NULL,
    parameters_fault      NVARCHAR(2048) NULL,
    CONSTRAINT PK_schedules PRIMARY KEY (schedule_id),
    CONSTRAINT UQ_schedules_name UNIQUE (job_id, name),
    CONSTRAINT FK_schedules_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id) ON DELETE CASCADE,
    CONSTRAINT CK_schedules_interval_type
        CHECK (interval_type IN (N'Once', N'Minutes', N'Hours', N'Days', N'Weeks', N'Months')),
    CONSTRAINT CK_schedules_interval_count CHECK (interval_count >= 1),
    CONSTRAINT CK_schedules_state CHECK (state IN (N'Enabled', N'Disabled', N'Completed', N'Faulted')),
    CONSTRAINT CK_schedules_overlap
        CHECK (overlap IN (N'Skip', N'BufferOne', N'BufferAll', N'CancelOther', N'TerminateOther', N'AllowAll', N'Elastic')),
    CONSTRAINT CK_schedules_kind
        CHECK (spec IS NOT NULL OR (kind = N'elastic' AND interval_type IS NOT NULL AND interval_count IS NOT NULL)),
    CONSTRAINT CK_schedules_next_fire_at
        CHECK (next_fire_at IS NULL OR (next_due_at IS NOT NULL AND enabled = 1 AND paused = 0))
);

CREATE INDEX IX_schedules_next_fire_at ON jobs_internal.schedules (next_fire_at)
    INCLUDE (next_due_at)
    WHERE next_fire_at IS NOT NULL;
CREATE INDEX IX_schedules_awaits_verdict ON jobs_internal.schedules (schedule_id)
    WHERE awaits_verdict = 1;
CREATE INDEX IX_schedules_recheck_at ON jobs_internal.schedules (recheck_at)
    WHERE recheck_at IS NOT NULL;
CREATE INDEX IX_schedules_buffered ON jobs_internal.schedules (schedule_id)
    WHERE buffered > 0;
CREATE INDEX IX_schedules_closed_at ON jobs_internal.schedules (closed_at)
    WHERE closed_at IS NOT NULL;
CREATE INDEX IX_schedules_paused_at ON jobs_internal.schedules (paused_at)
    WHERE paused = 1;
CREATE INDEX IX_schedules_faulted ON jobs_internal.schedules (closed_at)
    WHERE state = N'Faulted';
CREATE INDEX IX_schedules_payload_id ON jobs_internal.schedules (payload_id)
    WHERE payload_id IS NOT NULL;
CREATE INDEX IX_schedules_run_payload_id ON jobs_internal.schedules (run_payload_id)
    WHERE run_payload_id IS NOT NULL;

-- One statement may lock the rows of thousands of targets; a table lock would block all other sessions (sql/DESIGN.md, "Order of locks").
ALTER TABLE jobs_internal.schedules SET (LOCK_ESCALATION = DISABLE);
