-- The waves of roll-outs, with the settings of the plan. A row is created when the targets are assigned.
--
-- Columns:
--   execution_id      The roll-out's own run.
--   wave              1, 2, …, in the order in which they run.
--   name              Of the plan.
--   state             Pending, Preflight, Running, Baking (its gates have passed, and its bake time or its last probe lasts), Passed,
--                     Stopped (a gate has failed), or Skipped (by a person).
--   selects           What chooses its targets: count, percent, rest, names, like, tags, or undo (those of a wave that is undone).
--   selection         The number, or the JSON array or filter of the plan; NULL: rest, undo.
--   target_order      resolution, name, random or tag.
--   order_tag         The tag of target_order = tag; NULL for all others.
--   quota             Number of targets that it may take; NULL: all that it selects.
--   targets           Number of its targets, once they are assigned.
--   max_parallelism   Targets that run at once; NULL: as many as other limits allow.
--   pace              Targets that start in any minute; NULL: as many as start.
--   bake_seconds      How long the roll-out waits after it.
--   approval          none, any, or other: a person who did not start the roll-out must approve it before it starts.
--   window_name       Name of a calendar: it starts, and its targets start, only inside of it; NULL: at any time.
--   max_failed, max_failed_percent, max_unknown, max_unreached, max_unreached_percent, max_duration_percent  Its gates. The numbers of a
--                     percentage are computed when the targets are assigned, and again when some are moved or left out.
--   probe_job_id, probe_every_seconds  Its probe; NULL: none, or only one, at the end of the bake.
--   probe_max_rows, probe_min_value, probe_max_value  What the probe must return on each target: at most so many rows, and a number in
--                     these limits. NULL: no such limit.
--   probe_min_percent, probe_max_percent  Limits of that number, in percent of what the probe returned on the target before the wave.
--   probe_check       These limits in words; NULL: none.
--   probe_at          When the next probe starts during the bake; before the wave, since when the probe job has been waited for.
--   before_run_id     The run of the probe job before the wave, if there are limits in percent; NULL: it has not succeeded yet.
--   probe_run_id      The latest run of the probe job; NULL: none.
--   run_id            The latest of its runs; NULL: none has started.
--   started_at        When the first one started.
--   ended_at          When it passed or was skipped.
--   bake_until        When its bake ends.
--   approved_at, approved_by, approval_comment  Its approval.
--   succeeded, failed, unknown, unreached  Number of its targets with each outcome, when they were last counted; failed counts the unknown
--                     ones, too.
--   median_ms, usual_ms  Median durations of its targets and of earlier runs, if there is a gate about them.
--   gate              What the gates found, in words; before, which of its names are no targets. NULL: they were not evaluated yet.
--   preflight_run_id  The latest run of its preflight; NULL: none.
--   preflight_failed  Number of its targets that failed the latest preflight, as far as they are counted; NULL: there was none.
--   left_out          Number of its targets that are left out because of it.
--   probe_gate        What the latest probe returned, in words; NULL: it has no limits, or there was none since the wave ran.
CREATE TABLE jobs_internal.rollout_waves (
    execution_id         BIGINT NOT NULL,
    wave                 INT NOT NULL,
    name                 NVARCHAR(128) NOT NULL,
    state                NVARCHAR(10) NOT NULL CONSTRAINT DF_rollout_waves_state DEFAULT N'Pending',
    selects              NVARCHAR(10) NOT NULL,
    selection            NVARCHAR(MAX) NULL,
    target_order         NVARCHAR(10) NOT NULL,
    order_tag            NVARCHAR(128) NULL,
    quota                INT NULL,
    targets              INT NULL,
    max_parallelism      INT NULL,
    pace                 INT NULL,
    bake_seconds         INT NOT NULL,
    approval             NVARCHAR(10) NOT NULL,
    window_name          NVARCHAR(128) NULL,
    max_failed           INT NOT NULL,
    max_failed_percent   INT NULL,
    max_unknown          INT NOT NULL,
    max_unreached        INT NOT NULL,
    max_unreached_percent INT NULL,
    max_duration_percent INT NULL,
    probe_job_id         UNIQUEIDENTIFIER NULL,
    probe_every_seconds  INT NULL,
    probe_max_rows       INT NULL,
    probe_min_value      BIGINT NULL,
    probe_max_value      BIGINT NULL,
    probe_min_percent    INT NULL,
    probe_max_percent    INT NULL,
    probe_check          NVARCHAR(400) NULL,
    probe_at             DATETIME2(7) NULL,
    before_run_id        BIGINT NULL,
    probe_run_id         BIGINT NULL,
    run_id               BIGINT NULL,
    started_at           DATETIME2(7) NULL,
    ended_at             DATETIME2(7) NULL,
    bake_until           DATETIME2(7) NULL,
    approved_at          DATETIME2(7) NULL,
    approved_by          NVARCHAR(128) NULL,
    approval_comment     NVARCHAR(1000) NULL,
    succeeded            INT NULL,
    failed               INT NULL,
    unknown              INT NULL,
    unreached            INT NULL,
    median_ms            BIGINT NULL,
    usual_ms             BIGINT NULL,
    gate                 NVARCHAR(2000) NULL,
    preflight_run_id     BIGINT NULL,
    preflight_failed     INT NULL,
    left_out             INT NOT NULL CONSTRAINT DF_rollout_waves_left_out DEFAULT 0,
    probe_gate           NVARCHAR(1000) NULL,
    CONSTRAINT PK_rollout_waves PRIMARY KEY (execution_id, wave),
    CONSTRAINT FK_rollout_waves_rollouts FOREIGN KEY (execution_id) REFERENCES jobs_internal.rollouts (execution_id),
    CONSTRAINT CK_rollout_waves_state CHECK (
        state IN (N'Pending', N'Preflight', N'Running', N'Baking', N'Passed', N'Stopped', N'Skipped')
    ),
    CONSTRAINT CK_rollout_waves_selects CHECK (selects IN (N'count', N'percent', N'rest', N'names', N'like', N'tags', N'undo')),
    CONSTRAINT CK_rollout_waves_approval CHECK (approval IN (N'none', N'any', N'other'))
);
